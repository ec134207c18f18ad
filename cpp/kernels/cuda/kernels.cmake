# Compiles kernels.cu with nvcc into a fatbin, which image.cc puts into the library. Included by
# cpp/CMakeLists.txt. CMake's own CUDA language is not used: it would try out compiler and driver at
# every configuration, and all that is needed is one file. GRAMMASK_CUDA: AUTO compiles the kernels
# where there is an nvcc, ON insists on it, OFF leaves them out.
set(GRAMMASK_CUDA AUTO CACHE STRING "CUDA kernels: AUTO (where nvcc is found), ON or OFF")
set_property(CACHE GRAMMASK_CUDA PROPERTY STRINGS AUTO ON OFF)
set(GRAMMASK_CUDA_IMAGE "" CACHE INTERNAL "The compiled CUDA kernels; empty: none")
if(NOT GRAMMASK_CUDA STREQUAL "OFF")
  find_program(GRAMMASK_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin
    PATHS /usr/local/cuda/bin)
  if(GRAMMASK_NVCC)
    execute_process(COMMAND ${GRAMMASK_NVCC} --version
      OUTPUT_VARIABLE nvcc_version RESULT_VARIABLE nvcc_result ERROR_QUIET)
    string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" nvcc_version "${nvcc_version}")
    set(nvcc_version "${CMAKE_MATCH_1}")
  endif()
  if(NOT GRAMMASK_NVCC OR NOT nvcc_result EQUAL 0 OR nvcc_version VERSION_LESS 12.0)
    if(GRAMMASK_CUDA STREQUAL "ON")
      message(FATAL_ERROR "GRAMMASK_CUDA is ON, but no nvcc of CUDA 12.0 or newer was found "
                          "(looked at: ${GRAMMASK_NVCC} ${nvcc_version}). Put it on the PATH, or "
                          "set GRAMMASK_NVCC.")
    endif()
    message(STATUS "CUDA kernels: left out, as there is no nvcc of CUDA 12.0 or newer")
  else()
    # Machine code for the three generations with data centre GPUs, and intermediate code that the
    # driver compiles for any later one. -fmad=false: arithmetic that is the same on every machine.
    set(targets 80 90)
    set(compression "")
    if(nvcc_version VERSION_GREATER_EQUAL 12.8)
      list(APPEND targets 100)
      set(compression --compress-mode=size)
    endif()
    set(nvcc_flags -std=c++17 -O3 -fmad=false -Xfatbin=-compress-all ${compression} --threads 2
      -ccbin ${CMAKE_CXX_COMPILER} -allow-unsupported-compiler -I ${PROJECT_SOURCE_DIR}/cpp -I ${PROJECT_SOURCE_DIR}/include)
    foreach(target ${targets})
      list(APPEND nvcc_flags -gencode arch=compute_${target},code=sm_${target})
    endforeach()
    list(APPEND nvcc_flags -gencode arch=compute_90,code=compute_90)
    if(GRAMMASK_WERROR)
      list(APPEND nvcc_flags -Werror all-warnings)
    endif()
    set(GRAMMASK_CUDA_IMAGE ${CMAKE_CURRENT_BINARY_DIR}/grammask_kernels.fatbin
      CACHE INTERNAL "The compiled CUDA kernels; empty: none")
    file(GLOB kernel_headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/kernels/cuda/*.h)
    add_custom_command(OUTPUT ${GRAMMASK_CUDA_IMAGE}
      COMMAND ${GRAMMASK_NVCC} -fatbin ${nvcc_flags}
        ${CMAKE_CURRENT_SOURCE_DIR}/kernels/cuda/kernels.cu -o ${GRAMMASK_CUDA_IMAGE}
      DEPENDS kernels/cuda/kernels.cu kernels/philox.h ${kernel_headers}
        ${PROJECT_SOURCE_DIR}/include/grammask/device.cuh
      COMMENT "CUDA kernels (nvcc ${nvcc_version})" VERBATIM)
    set_source_files_properties(kernels/cuda/image.cc PROPERTIES
      OBJECT_DEPENDS ${GRAMMASK_CUDA_IMAGE}
      COMPILE_DEFINITIONS "GRAMMASK_CUDA_IMAGE=\"${GRAMMASK_CUDA_IMAGE}\"")
    message(STATUS "CUDA kernels: nvcc ${nvcc_version}, ${GRAMMASK_NVCC}")
  endif()
endif()
