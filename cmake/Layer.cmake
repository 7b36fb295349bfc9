# One OBJECT library per folder of src/. The LINKS of a layer spell the include table of ARCHITECTURE.md; the objects feed
# libosbx.so, libosbx.a and the unit tests, so hidden visibility costs no test.

add_library(osbx_options INTERFACE)
target_compile_options(osbx_options INTERFACE -ffunction-sections -fdata-sections -Wall -Wextra -Wshadow $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> -Werror=return-type
  $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>                 # a unique symbol would pin the library past dlclose()
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  # No trace of where the tree lay, in debug information or in messages.
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
# Outside bytes go through this code: a read past the end stops here instead of going on.
target_compile_definitions(osbx_options INTERFACE _GLIBCXX_ASSERTIONS)
if(OSBX_WARNINGS_AS_ERRORS)
  target_compile_options(osbx_options INTERFACE -Werror)
endif()
if(OSBX_SANITIZE)
  target_compile_options(osbx_options INTERFACE -fsanitize=${OSBX_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(osbx_options INTERFACE -fsanitize=${OSBX_SANITIZE})
else()
  target_compile_options(osbx_options INTERFACE -fstack-protector-strong
    $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2>)
endif()

# The public header: for capi, and for what uses the library as an embedder would.
add_library(osbx_header INTERFACE)
target_include_directories(osbx_header INTERFACE ${PROJECT_SOURCE_DIR}/include)

# osbx_layer(NAME SOURCES file... LINKS target...)
# A layer that has no sources yet is an INTERFACE library: an OBJECT library without objects does not configure.
function(osbx_layer name)
  cmake_parse_arguments(LAYER "" "" "SOURCES;LINKS" ${ARGN})
  if(LAYER_SOURCES)
    add_library(osbx_${name} OBJECT ${LAYER_SOURCES})
    target_include_directories(osbx_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(osbx_${name} PRIVATE osbx_options PUBLIC ${LAYER_LINKS})
    if(OSBX_CLANG_TIDY)
      set_target_properties(osbx_${name} PROPERTIES CXX_CLANG_TIDY "clang-tidy;--quiet")
    endif()
  else()
    add_library(osbx_${name} INTERFACE)
    target_include_directories(osbx_${name} INTERFACE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(osbx_${name} INTERFACE ${LAYER_LINKS})
  endif()
  set_property(GLOBAL APPEND PROPERTY OSBX_LAYERS ${name})
endfunction()
