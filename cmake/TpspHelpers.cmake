# tpsp_add_library(NAME files... [HEADERS file] DEPENDS targets... LINK libraries...)
#
# Adds a static library with the project's warnings. HEADERS is the header of
# this folder that it precompiles (default: CommonHeaders.h), or none. DEPENDS
# names targets of generated files (tablegen), LINK the libraries that it links
# publicly.
function(tpsp_add_library name)
  cmake_parse_arguments(ARG "" "HEADERS" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  tpsp_set_warnings(${name})
  tpsp_precompile("${ARG_HEADERS}" ${name})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
endfunction()

# tpsp_add_tool(NAME files... [HEADERS file] LINK libraries...): an executable in
# build/bin. HEADERS as for a library.
function(tpsp_add_tool name)
  cmake_parse_arguments(ARG "" "HEADERS" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  set_property(GLOBAL APPEND PROPERTY TPSP_EXECUTABLES ${name})
  tpsp_set_warnings(${name})
  tpsp_precompile("${ARG_HEADERS}" ${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
endfunction()

# tpsp_add_gtest(NAME files... [HEADERS file] LINK libraries...): a GoogleTest
# binary, registered with ctest under its own name. HEADERS is the header that
# it precompiles (default: TestHeaders.h).
function(tpsp_add_gtest name)
  cmake_parse_arguments(ARG "" "HEADERS" "LINK" ${ARGN})
  tpsp_add_tool(${name} ${ARG_UNPARSED_ARGUMENTS} HEADERS none
    LINK ${ARG_LINK} GTest::gmock GTest::gtest_main)
  tpsp_optimise_little(${name})
  if(NOT ARG_HEADERS)
    set(ARG_HEADERS TestHeaders.h)
  endif()
  tpsp_precompile(${ARG_HEADERS} ${name} FOR_TESTS)
  add_test(NAME ${name} COMMAND ${name})
  # Only against hangs: a loaded machine takes much less.
  set(timeout 3600)
  if(TPSP_SANITIZE MATCHES thread)
    set(timeout 14400) # ten times as slow
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout})
endfunction()

# A test runs only once after each compilation, so it is optimised little.
function(tpsp_optimise_little name)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# tpsp_precompile(HEADERS targets... [FOR_TESTS]): precompiles cmake/HEADERS
# (CommonHeaders.h if it is empty, nothing if it is none), once for all of these
# targets, and once for tests, whose options differ. Half of a compilation is
# reading headers. With a compiler launcher nothing is precompiled, because
# ccache then would not recognise objects.
function(tpsp_precompile headers)
  cmake_parse_arguments(ARG "FOR_TESTS" "" "" ${ARGN})
  if(CMAKE_CXX_COMPILER_LAUNCHER OR NOT TPSP_PRECOMPILE OR headers STREQUAL none)
    return()
  endif()
  if(NOT headers)
    set(headers CommonHeaders.h)
  endif()
  get_filename_component(owner ${headers} NAME_WE)
  set(owner Tpsp${owner})
  if(ARG_FOR_TESTS)
    string(APPEND owner ForTests)
  endif()
  # The definitions on the command line must be the same for all targets.
  set(libraries fmt::fmt $<$<STREQUAL:${headers},TestHeaders.h>:GTest::gmock>)
  if(NOT TARGET ${owner})
    set(empty ${PROJECT_BINARY_DIR}/${owner}.cpp)
    file(CONFIGURE OUTPUT ${empty} CONTENT "")
    add_library(${owner} OBJECT ${empty})
    tpsp_set_warnings(${owner})
    if(ARG_FOR_TESTS)
      tpsp_optimise_little(${owner})
    endif()
    target_link_libraries(${owner} PUBLIC ${libraries})
    target_precompile_headers(${owner} PRIVATE
      ${PROJECT_SOURCE_DIR}/cmake/${headers})
  endif()
  foreach(name IN LISTS ARG_UNPARSED_ARGUMENTS)
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

# Embeds the JSON files of FOLDER, so that a tool still has them after it is
# copied elsewhere, and installs them. Makes Embedded<NOUN>.cpp, which defines
# embedded<NOUN>(name) and embedded<NOUN>Names(), in the binary directory.
function(tpsp_embed_texts FOLDER NOUN)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${FOLDER}/*.json)
  set(TPSP_EMBEDDED_FOLDER ${FOLDER})
  set(TPSP_EMBEDDED_NOUN ${NOUN})
  set(TPSP_EMBEDDED_TEXTS "")
  set(TPSP_EMBEDDED_NAMES "")
  foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME_WE)
    file(READ ${file} text)
    string(APPEND TPSP_EMBEDDED_TEXTS
      "  if (name == \"${name}\")\n    return R\"json(${text})json\";\n")
    string(APPEND TPSP_EMBEDDED_NAMES "\"${name}\", ")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  endforeach()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/EmbeddedTexts.cpp.in
    Embedded${NOUN}.cpp @ONLY)
  install(FILES ${files} DESTINATION share/tpsp/${FOLDER})
endfunction()
