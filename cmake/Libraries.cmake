# libosbx.so and libosbx.a, from the objects of all layers.
get_property(layers GLOBAL PROPERTY OSBX_LAYERS)
list(TRANSFORM layers PREPEND osbx_ OUTPUT_VARIABLE layer_targets)

# Targets osbx_shared and osbx_static. An object library hands its objects only to who links it directly, hence each is
# named. A library needs at least one source of its own; this one holds nothing.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/empty.cc CONTENT "// Without content: everything is in the layers' objects.\n")
foreach(kind shared static)
  string(TOUPPER ${kind} type)
  add_library(osbx_${kind} ${type} ${PROJECT_BINARY_DIR}/empty.cc)
  target_link_libraries(osbx_${kind} PRIVATE osbx_options ${layer_targets})
  target_include_directories(osbx_${kind} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  set_target_properties(osbx_${kind} PROPERTIES OUTPUT_NAME osbx)
endforeach()

set(version_script ${PROJECT_SOURCE_DIR}/src/capi/osbx.map)
set_target_properties(osbx_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${OSBX_SOVERSION}
  LINK_DEPENDS ${version_script})
target_link_options(osbx_shared PRIVATE
  -Wl,--version-script=${version_script} -Wl,--no-undefined-version
  -Wl,--as-needed -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
# Clang leaves the sanitizer's runtime to the executable, so that its symbols are undefined here.
if(NOT (OSBX_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang"))
  target_link_options(osbx_shared PRIVATE -Wl,-z,defs)
endif()

add_library(osbx::osbx ALIAS osbx_shared)
add_library(osbx::osbx_static ALIAS osbx_static)
