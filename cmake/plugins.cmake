# simsgd_plugins(TARGET TABLE table TYPE type HEADER header NAMESPACE namespace FILES file...)
#
# The one list of a kind of plug-in: its files are compiled into TARGET, and `table()`, declared in HEADER as
# `const std::vector<TYPE>& table()`, is written with the plug-ins of all files in this order. FILE.cpp defines
# `std::vector<TYPE> NAMESPACE::FILE()`: one plug-in, or several presets of one class.
function(simsgd_plugins target)
  cmake_parse_arguments(PARSE_ARGV 1 list "" "TABLE;TYPE;HEADER;NAMESPACE" "FILES")
  set(declarations "")
  set(calls "")
  foreach(file IN LISTS list_FILES)
    get_filename_component(name ${file} NAME)
    string(APPEND declarations "std::vector<${list_TYPE}> ${name}();\n")
    string(APPEND calls "      ${list_NAMESPACE}::${name}(),\n")
    target_sources(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/${file}.cpp)
  endforeach()
  set(table ${CMAKE_CURRENT_BINARY_DIR}/${list_TABLE}.cpp)
  file(CONFIGURE OUTPUT ${table} @ONLY CONTENT
"// Written by CMake from the list in ${CMAKE_CURRENT_SOURCE_DIR}.
#include \"${list_HEADER}\"

namespace simsgd::${list_NAMESPACE} {
${declarations}}

namespace simsgd {

const std::vector<${list_TYPE}>& ${list_TABLE}() {
  static const std::vector<${list_TYPE}> table = joined<${list_TYPE}>({
${calls}  });
  return table;
}

}  // namespace simsgd
")
  target_sources(${target} PRIVATE ${table})
endfunction()
