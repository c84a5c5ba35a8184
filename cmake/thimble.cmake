# The three ways this project makes targets: a library a folder, a table from a directory listing, a test program a folder.

add_library(thimble_options INTERFACE)
target_include_directories(thimble_options INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
  $<INSTALL_INTERFACE:include/thimble>)
target_compile_features(thimble_options INTERFACE cxx_std_20)
# How we build ourselves; those who link us choose their own.
add_library(thimble_strict INTERFACE)
target_compile_options(thimble_strict INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
  -ffp-contract=off -fno-math-errno -ffunction-sections -fdata-sections)
target_link_libraries(thimble_options INTERFACE $<BUILD_INTERFACE:thimble_strict>)
# -Wrestrict is broken for std::string in g++ 12 (GCC bug 105651).
target_compile_options(thimble_strict INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
target_link_options(thimble_strict INTERFACE -Wl,--gc-sections)
if(THIMBLE_SANITIZE)
  # Null pointers and the ends of objects are what the address sanitizer finds by itself; asked for twice they are a sixth of the build.
  target_compile_options(thimble_strict INTERFACE -fsanitize=${THIMBLE_SANITIZE} -fno-sanitize=null,object-size
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(thimble_strict INTERFACE -fsanitize=${THIMBLE_SANITIZE})
endif()
find_package(Threads REQUIRED)
target_link_libraries(thimble_options INTERFACE Threads::Threads nlohmann_json::nlohmann_json ZLIB::ZLIB)

# thimble_library(folder [JOINED] [DEPENDS folder...]): every source in src/<folder> (not below it) becomes thimble_<folder>. Sanitized builds join the
# files of some, whose headers cost more than they do; plain builds compile each by itself and so prove that it is whole.
function(thimble_library folder)
  cmake_parse_arguments(ARG "JOINED" "" "DEPENDS" ${ARGN})
  string(REPLACE "/" "_" name ${folder})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp)
  if(sources)
    add_library(thimble_${name} STATIC ${sources})
    if(ARG_JOINED AND THIMBLE_SANITIZE)
      set_target_properties(thimble_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
    endif()
    set(scope PUBLIC)
  else()
    add_library(thimble_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(thimble_${name} ${scope} thimble_options)
  foreach(dependency ${ARG_DEPENDS})
    string(REPLACE "/" "_" dependency ${dependency})
    target_link_libraries(thimble_${name} ${scope} thimble_${dependency})
  endforeach()
endfunction()

# thimble_table(out_file SOURCES files... DECLARE "text with @NAME@" ENTRY "text with @NAME@" HEADER text FOOTER text):
# writes a source file that lists one entry a file. The directory listing is the table.
function(thimble_table out_file)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "HEADER;MIDDLE;FOOTER;DECLARE;ENTRY" "SOURCES")
  set(declarations "")
  set(entries "")
  foreach(source ${ARG_SOURCES})
    get_filename_component(NAME ${source} NAME_WE)
    string(CONFIGURE "${ARG_DECLARE}" text @ONLY)
    string(APPEND declarations "${text}\n")
    string(CONFIGURE "${ARG_ENTRY}" text @ONLY)
    string(APPEND entries "    ${text}\n")
  endforeach()
  file(CONFIGURE OUTPUT ${out_file} CONTENT "${ARG_HEADER}\n${declarations}${ARG_MIDDLE}\n${entries}${ARG_FOOTER}\n" @ONLY)
endfunction()

# thimble_op_table(out_file files...): the table of ops, from files that each define thimble::ops::<file>::def.
function(thimble_op_table out_file)
  thimble_table(${out_file} SOURCES ${ARGN}
    HEADER "#include \"ops/table.h\"\n\nnamespace thimble::ops {\n"
    DECLARE "namespace @NAME@ { extern const OpDef def; }"
    MIDDLE "}  // namespace thimble::ops\n\nnamespace thimble {\n\nOpTable op_table() {\n  static const OpDef* const kOps[] = {"
    ENTRY "&ops::@NAME@::def,"
    FOOTER "  };\n  return kOps;\n}\n\n}  // namespace thimble")
endfunction()

# The program as tests start it: another architecture's through the emulator.
set(tested_program $<TARGET_FILE:thimble>)
if(CMAKE_CROSSCOMPILING)
  set(tested_program ${CMAKE_BINARY_DIR}/emulated/thimble)
  list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
  file(CONFIGURE OUTPUT ${tested_program} CONTENT "#!/bin/sh\nexec ${emulator} ${CMAKE_BINARY_DIR}/thimble \"\$@\"\n" @ONLY)
  file(CHMOD ${tested_program} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endif()

# thimble_test(folder [DEPENDS folder...] [SLOW filter] [PARTS n] [LONG]): every tests/<folder>/*_test.cpp becomes one program, test_<folder>. Builds with
# sanitizers or under emulation, which are ten times slower and more and hold more memory than any budget allows, run the tests that the filter names.
# A program that takes longest of all runs in parts, side by side; long ones begin first, so that none is left over in the end.
function(thimble_test folder)
  cmake_parse_arguments(ARG "LONG" "SLOW;PARTS" "DEPENDS" ${ARGN})
  string(REPLACE "/" "_" name ${folder})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(test_${name} ${sources})
  # One translation unit a program: what tests include takes longer than what they say.
  set_target_properties(test_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(test_${name} PRIVATE GTest::gtest GTest::gtest_main)
  foreach(dependency ${ARG_DEPENDS})
    string(REPLACE "/" "_" dependency ${dependency})
    target_link_libraries(test_${name} PRIVATE thimble_${dependency})
  endforeach()
  if(CMAKE_CROSSCOMPILING)
    target_compile_definitions(test_${name} PRIVATE THIMBLE_EMULATED)
  endif()
  # What is under test is in the libraries. The tests themselves, with checks around every expectation, build in half the time so.
  target_compile_options(test_${name} PRIVATE $<IF:$<CONFIG:Release>,-O1,-O0>)
  set(filter "")
  if(ARG_SLOW AND (THIMBLE_SANITIZE OR CMAKE_CROSSCOMPILING))
    set(filter --gtest_filter=${ARG_SLOW})
  endif()
  set(parts 1)
  if(ARG_PARTS)
    set(parts ${ARG_PARTS})
  endif()
  math(EXPR last "${parts} - 1")
  foreach(part RANGE ${last})
    set(part_name ${name})
    if(part GREATER 0)
      set(part_name ${name}_${part})
    endif()
    add_test(NAME ${part_name} COMMAND test_${name} ${filter} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${part_name} PROPERTIES
      ENVIRONMENT "THIMBLE_BINARY=${tested_program};GTEST_TOTAL_SHARDS=${parts};GTEST_SHARD_INDEX=${part}")
    if(ARG_LONG)
      set_tests_properties(${part_name} PROPERTIES COST 100)
    endif()
  endforeach()
endfunction()
