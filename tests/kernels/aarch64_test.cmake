# Builds the CPU kernels and their tests for AArch64 and runs them under qemu, so that the NEON code
# is tested on other machines. Without a cross compiler, qemu or the sources of GoogleTest (Debian:
# g++-aarch64-linux-gnu, qemu-user, googletest) it says "skipped:" and why.
#
#   cmake -DSOURCE_DIR=... -DBUILD_DIR=... [-DLAUNCHER=ccache] -P aarch64_test.cmake
find_program(CXX aarch64-linux-gnu-g++)
find_program(QEMU NAMES qemu-aarch64 qemu-aarch64-static)
set(gtest /usr/src/googletest/googletest)
if(NOT CXX)
  message("skipped: no aarch64-linux-gnu-g++ (Debian: apt install g++-aarch64-linux-gnu)")
  return()
elseif(NOT QEMU)
  message("skipped: no qemu-aarch64 (Debian: apt install qemu-user)")
  return()
elseif(NOT EXISTS ${gtest}/src/gtest-all.cc)
  message("skipped: no sources of GoogleTest (Debian: apt install googletest)")
  return()
endif()

file(GLOB sources ${SOURCE_DIR}/cpp/kernels/apply_*.cc ${SOURCE_DIR}/cpp/kernels/sample_*.cc)
foreach(name cpu_isa parallel)
  list(APPEND sources ${SOURCE_DIR}/cpp/kernels/${name}.cc)
endforeach()
foreach(name apply_cpu cpu_isa device_header parallel philox sample_cpu sample_select)
  list(APPEND sources ${SOURCE_DIR}/tests/kernels/${name}_test.cc)
endforeach()
foreach(name status thread_pool utf8)
  list(APPEND sources ${SOURCE_DIR}/cpp/base/${name}.cc)
endforeach()
list(APPEND sources ${gtest}/src/gtest-all.cc ${gtest}/src/gtest_main.cc)
set(folder ${BUILD_DIR}/aarch64)
file(MAKE_DIRECTORY ${folder})
set(objects "")
foreach(source ${sources})
  get_filename_component(name ${source} NAME_WE)
  set(object ${folder}/${name}.o)
  execute_process(
    COMMAND ${LAUNCHER} ${CXX} -std=c++20 -O2 -ffp-contract=off -Wno-psabi
      -I${SOURCE_DIR}/include -I${SOURCE_DIR}/cpp -isystem ${gtest}/include -isystem ${gtest}
      -c ${source} -o ${object}
    COMMAND_ERROR_IS_FATAL ANY)
  list(APPEND objects ${object})
endforeach()
execute_process(COMMAND ${CXX} -static -pthread ${objects} -o ${folder}/kernels_test
  COMMAND_ERROR_IS_FATAL ANY)
# qemu does not let a process that has threads fork and then start others; large calls take long.
execute_process(
  COMMAND ${QEMU} ${folder}/kernels_test --gtest_brief=1 --gtest_filter=-KernelParts.AForked*:*Many*Threads*
  COMMAND_ERROR_IS_FATAL ANY)
