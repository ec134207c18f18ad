# GCC looks for an object's counts beside the object: cmake -DFROM=<build> -DTO=<build> -P <this>.
file(GLOB_RECURSE counts RELATIVE ${FROM} ${FROM}/cpp/*.gcda)
if(NOT counts)
  message(FATAL_ERROR "the training left no counts (*.gcda) in ${FROM}")
endif()
foreach(count ${counts})
  get_filename_component(folder ${count} DIRECTORY)
  file(COPY ${FROM}/${count} DESTINATION ${TO}/${folder})
endforeach()
