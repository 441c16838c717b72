# tpsp_add_library(NAME files... DEPENDS targets... LINK libraries...)
#
# Adds a static library with the project's warnings. DEPENDS names targets of
# generated files (tablegen), LINK the libraries that it links publicly.
function(tpsp_add_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  tpsp_set_warnings(${name})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
endfunction()

# tpsp_add_tool(NAME files... LINK libraries...): an executable in build/bin.
function(tpsp_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  set_property(GLOBAL APPEND PROPERTY TPSP_EXECUTABLES ${name})
  tpsp_set_warnings(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
endfunction()

# tpsp_add_gtest(NAME files... [HEADERS file] LINK libraries...): a GoogleTest
# binary, registered with ctest under its own name. HEADERS is the header that
# it precompiles (default: TestHeaders.h).
function(tpsp_add_gtest name)
  cmake_parse_arguments(ARG "" "HEADERS" "LINK" ${ARGN})
  tpsp_add_tool(${name} ${ARG_UNPARSED_ARGUMENTS}
    LINK ${ARG_LINK} GTest::gmock GTest::gtest_main)
  # A test runs only once after each compilation, so it is optimised little.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(NOT ARG_HEADERS)
    set(ARG_HEADERS TestHeaders.h)
  endif()
  tpsp_precompile(${ARG_HEADERS} ${name})
  add_test(NAME ${name} COMMAND ${name})
  # Only against hangs: a loaded machine takes much less.
  set(timeout 3600)
  if(TPSP_SANITIZE MATCHES thread)
    set(timeout 14400) # ten times as slow
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout})
endfunction()

# tpsp_precompile(HEADERS targets...): precompiles cmake/HEADERS, once for all of
# these targets. Half of a pass's compile time is reading headers. With a
# compiler launcher nothing is precompiled, because ccache then would not
# recognise objects.
function(tpsp_precompile headers)
  if(CMAKE_CXX_COMPILER_LAUNCHER OR NOT TPSP_PRECOMPILE)
    return()
  endif()
  get_filename_component(owner ${headers} NAME_WE)
  set(owner Tpsp${owner})
  # The definitions on the command line must be the same for all targets.
  set(libraries fmt::fmt $<$<STREQUAL:${headers},TestHeaders.h>:GTest::gmock>)
  if(NOT TARGET ${owner})
    set(empty ${PROJECT_BINARY_DIR}/${owner}.cpp)
    file(CONFIGURE OUTPUT ${empty} CONTENT "")
    add_library(${owner} OBJECT ${empty})
    tpsp_set_warnings(${owner})
    target_link_libraries(${owner} PUBLIC ${libraries})
    target_precompile_headers(${owner} PRIVATE
      ${PROJECT_SOURCE_DIR}/cmake/${headers})
  endif()
  foreach(name IN LISTS ARGN)
    # Programs would be compiled with -fPIE, but the headers are with -fPIC.
    target_compile_options(${name} PRIVATE -fPIC)
    target_link_libraries(${name} PRIVATE ${libraries})
    target_precompile_headers(${name} REUSE_FROM ${owner})
  endforeach()
endfunction()

# Warnings for our own code; the packages' headers are system headers.
function(tpsp_set_warnings name)
  target_compile_options(${name} PRIVATE
    -Wall -Wextra -Wno-unused-parameter -Wno-comment)
  if(TPSP_SANITIZE)
    target_compile_options(${name} PRIVATE -fsanitize=${TPSP_SANITIZE}
      -fno-omit-frame-pointer)
    target_link_options(${name} PUBLIC -fsanitize=${TPSP_SANITIZE})
  endif()
endfunction()
