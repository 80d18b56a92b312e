# simsgd_plugins(TARGET TABLE table TYPE type [OF scalar] HEADER header NAMESPACE namespace FILES file...)
#
# The one list of a kind of plug-in: its files are compiled into TARGET, and `table()`, declared in HEADER as
# `const std::vector<TYPE>& table()`, is written with the plug-ins of all files in this order. FILE.cpp defines
# `std::vector<TYPE> NAMESPACE::FILE()`: one plug-in, or several presets of one class. With OF type and function are
# templates of a scalar: `std::vector<TYPE<T>> NAMESPACE::FILE<T>()`.
function(simsgd_plugins target)
  cmake_parse_arguments(PARSE_ARGV 1 list "" "TABLE;TYPE;OF;HEADER;NAMESPACE" "FILES")
  set(declarations "")
  set(calls "")
  set(template "")
  set(of "")
  set(type ${list_TYPE})
  if(list_OF)
    set(template "template <class T>\n")
    set(of "<${list_OF}>")
    set(type "${list_TYPE}<T>")
  endif()
  foreach(file IN LISTS list_FILES)
    get_filename_component(name ${file} NAME)
    string(APPEND declarations "${template}std::vector<${type}> ${name}();\n")
    string(APPEND calls "      ${list_NAMESPACE}::${name}${of}(),\n")
    target_sources(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/${file}.cpp)
  endforeach()
  set(table ${CMAKE_CURRENT_BINARY_DIR}/${list_TABLE}.cpp)
  file(CONFIGURE OUTPUT ${table} @ONLY CONTENT
"// Written by CMake from the list in ${CMAKE_CURRENT_SOURCE_DIR}.
#include \"${list_HEADER}\"

namespace simsgd::${list_NAMESPACE} {
${declarations}}

namespace simsgd {

const std::vector<${list_TYPE}${of}>& ${list_TABLE}() {
  static const std::vector<${list_TYPE}${of}> table = joined<${list_TYPE}${of}>({
${calls}  });
  return table;
}

}  // namespace simsgd
")
  target_sources(${target} PRIVATE ${table})
endfunction()

# simsgd_opens_libraries(TARGET PART...): the program opens libraries, of training methods (algorithms/plugin_library.hpp)
# and of ours, which call these parts of it: they are linked and exported whole.
function(simsgd_opens_libraries target)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_FILE:simsgd_\\1>" OUTPUT_VARIABLE parts)
  string(JOIN "," parts ${parts})
  target_link_options(${target} PRIVATE "LINKER:--whole-archive,${parts},--no-whole-archive"
    "LINKER:--dynamic-list=${PROJECT_SOURCE_DIR}/cmake/exported.txt")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exported.txt)
endfunction()

# simsgd_own_library(TARGET): a library of ours that the program opens where a command needs it (sim/base/this_program.hpp).
# Nothing of it but its one function is seen; what it calls of ours is the program's.
add_custom_target(simsgd_libraries)
function(simsgd_own_library target)
  set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  install(TARGETS ${target} LIBRARY DESTINATION lib/simsgd)
  add_dependencies(simsgd_libraries ${target})
endfunction()

# The header package: what a library of training methods is built with, by `find_package(simsgd)`.
configure_file(cmake/simsgd-config.cmake.in ${PROJECT_BINARY_DIR}/generated/simsgd-config.cmake @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/simsgd-config.cmake DESTINATION lib/cmake/simsgd COMPONENT dev)
install(DIRECTORY sim DESTINATION include/simsgd COMPONENT dev
  FILES_MATCHING PATTERN "*.hpp" PATTERN "engine" EXCLUDE PATTERN "recording" EXCLUDE PATTERN "model.hpp" EXCLUDE PATTERN "layers" EXCLUDE
  PATTERN "models" EXCLUDE)
install(DIRECTORY algorithms DESTINATION include/simsgd COMPONENT dev FILES_MATCHING PATTERN "*.hpp" PATTERN "python" EXCLUDE)
install(DIRECTORY examples/plugin DESTINATION share/doc/simsgd/examples COMPONENT dev)
