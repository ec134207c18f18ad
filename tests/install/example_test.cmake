# Installs the build in BUILD_DIR to a fresh prefix, then configures, builds and runs the project
# SOURCE_DIR, which finds the package there. Fails when any of that does.
set(prefix ${BUILD_DIR}/install_test/prefix)
set(project ${BUILD_DIR}/install_test/project)
file(REMOVE_RECURSE ${BUILD_DIR}/install_test)

execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix}
  COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
file(GLOB headers RELATIVE ${prefix}/include ${prefix}/include/*)
if(NOT headers STREQUAL "grammask")
  message(FATAL_ERROR "include/ should hold grammask/ alone; it holds: ${headers}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE_DIR} -B ${project} -G ${GENERATOR}
    -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_BUILD_TYPE=Release
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${project} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${project}/grammask_example OUTPUT_VARIABLE output
  COMMAND_ERROR_IS_FATAL ANY)
message("${output}")
if(NOT output MATCHES "rolled back")
  message(FATAL_ERROR "the example did not run to its end")
endif()
