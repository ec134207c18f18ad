# Profile-guided optimisation with GCC: GRAMMASK_PGO=ON builds the library twice, first in
# <build>/training with counters, which training.cc there fills by doing what engines do, then with
# what they say. Included by cpp/CMakeLists.txt. GRAMMASK_PGO=TRAIN is the first of the two.
set(GRAMMASK_PGO OFF CACHE STRING "Optimise with a profile (GCC); the library is built twice: ON, OFF")
set_property(CACHE GRAMMASK_PGO PROPERTY STRINGS ON OFF)
set(grammask_pgo ${GRAMMASK_PGO})
set(pgo_unfit "")
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(pgo_unfit "the compiler is not GCC")
elseif(CMAKE_CROSSCOMPILING)
  set(pgo_unfit "what is built does not run on this machine")
elseif(GRAMMASK_SANITIZE)
  set(pgo_unfit "sanitizers are on")
elseif(CMAKE_CONFIGURATION_TYPES)
  set(pgo_unfit "the generator builds several configurations")
endif()
if(grammask_pgo AND pgo_unfit)
  message(STATUS "Profile-guided optimisation: left out, as ${pgo_unfit}")
  set(grammask_pgo OFF)
endif()

# An empty header, written after each training. All that is to be compiled with counts includes it,
# and so is compiled again when they change.
set(profile_header ${PROJECT_BINARY_DIR}/training.h)

# grammask_profiled(target): a library whose code the training runs.
function(grammask_profiled target)
  if(grammask_pgo STREQUAL "TRAIN")
    target_compile_options(${target} PRIVATE -fprofile-generate)
  elseif(grammask_pgo)
    # -fprofile-partial-training: what the training did not come to is compiled as without a
    # profile, and not for size.
    target_compile_options(${target} PRIVATE -fprofile-use -fprofile-partial-training
      -Wno-missing-profile -include ${profile_header})
    add_dependencies(${target} grammask_profile)
  endif()
endfunction()

if(grammask_pgo STREQUAL "TRAIN" OR NOT grammask_pgo)
  return()
endif()

set(profile_dir ${CMAKE_CURRENT_LIST_DIR})
set(training_dir ${PROJECT_BINARY_DIR}/training)
# Without ccache: an object with counters names the folder that it was compiled in.
set(arguments -G ${CMAKE_GENERATOR} -DGRAMMASK_PGO=TRAIN -DGRAMMASK_CUDA=OFF -DGRAMMASK_INSTALL=OFF
  -DCMAKE_CXX_COMPILER_LAUNCHER=)
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
foreach(name CMAKE_MAKE_PROGRAM CMAKE_CXX_COMPILER CMAKE_BUILD_TYPE CMAKE_CXX_FLAGS
             CMAKE_CXX_FLAGS_${build_type} CMAKE_PREFIX_PATH CMAKE_TOOLCHAIN_FILE absl_DIR
             nlohmann_json_DIR GRAMMASK_UNITY)
  if(DEFINED ${name})
    string(REPLACE ";" "$<SEMICOLON>" value "${${name}}")
    list(APPEND arguments "-D${name}=${value}")
  endif()
endforeach()
file(GLOB_RECURSE trained CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cpp/*.cc
  ${PROJECT_SOURCE_DIR}/cpp/*.h ${PROJECT_SOURCE_DIR}/include/*.h ${profile_dir}/*)
add_custom_command(OUTPUT ${profile_header}
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${training_dir}
  COMMAND ${CMAKE_COMMAND} -S ${PROJECT_SOURCE_DIR} -B ${training_dir} ${arguments}
  COMMAND ${CMAKE_COMMAND} --build ${training_dir} --target profile_training
  COMMAND ${training_dir}/profile_training ${PROJECT_SOURCE_DIR}
  COMMAND ${CMAKE_COMMAND} -DFROM=${training_dir} -DTO=${PROJECT_BINARY_DIR}
    -P ${profile_dir}/copy_counts.cmake
  COMMAND ${CMAKE_COMMAND} -E touch ${profile_header}
  DEPENDS ${trained} ${PROJECT_SOURCE_DIR}/bench/common.h
  COMMENT "Profile: the library with counters, built and run" VERBATIM USES_TERMINAL)
add_custom_target(grammask_profile DEPENDS ${profile_header})
message(STATUS "Profile-guided optimisation: on; the library is built twice")
