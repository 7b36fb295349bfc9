# Programs for inside sandboxes: one file that needs nothing of the image it is put into.

# cJSON for them, since Debian has no libcjson.a: its source package, which scripts/dependencies unpacks there.
set(OSBX_CJSON_SOURCE ${PROJECT_SOURCE_DIR}/build/third_party/cjson CACHE PATH
  "Folder with cJSON.c and cJSON.h, for static programs")

# osbx_static_program(NAME [LAYERS layer...] [LINKS target...]): links an existing executable statically with the objects
# of the layers and of all they need (each is named). Under a sanitizer, which knows no static programs, as any other.
function(osbx_static_program name)
  cmake_parse_arguments(PROGRAM "" "" "LAYERS;LINKS" ${ARGN})
  target_link_libraries(${name} PRIVATE osbx_options)
  if(OSBX_SANITIZE)
    list(TRANSFORM PROGRAM_LAYERS PREPEND osbx_)
    target_link_libraries(${name} PRIVATE ${PROGRAM_LAYERS} ${PROGRAM_LINKS})
    return()
  endif()
  # The layers' own libraries are shared ones, so that only their objects are taken.
  foreach(layer ${PROGRAM_LAYERS})
    get_target_property(type osbx_${layer} TYPE)
    if(type STREQUAL "OBJECT_LIBRARY")
      target_sources(${name} PRIVATE $<TARGET_OBJECTS:osbx_${layer}>)
    endif()
  endforeach()
  if(PROGRAM_LAYERS)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${name} PRIVATE osbx_static_libraries)
  endif()
  target_link_libraries(${name} PRIVATE ${PROGRAM_LINKS})
  # A warning here is about functions that load shared libraries at run time (getaddrinfo, getpwnam): there are none.
  target_link_options(${name} PRIVATE -static -no-pie -Wl,--gc-sections -Wl,--fatal-warnings
    -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    add_custom_command(TARGET ${name} POST_BUILD
      COMMAND ${CMAKE_OBJCOPY} --only-keep-debug $<TARGET_FILE:${name}> $<TARGET_FILE:${name}>.debug
      COMMAND ${CMAKE_OBJCOPY} --strip-all --add-gnu-debuglink=$<TARGET_FILE:${name}>.debug $<TARGET_FILE:${name}>
      VERBATIM)
  endif()
endfunction()

# Target osbx_static_libraries: what the layers up to http and contract link, as archives. CMake's targets of abseil are
# the shared libraries; pkg-config knows the closure and its order.
function(osbx_static_libraries)
  if(NOT EXISTS ${OSBX_CJSON_SOURCE}/cJSON.c)
    message(FATAL_ERROR "No cJSON.c in ${OSBX_CJSON_SOURCE}, which the static program `sandbox` needs: run "
      "`scripts/dependencies build` (Debian's source package), set OSBX_CJSON_SOURCE, or build without "
      "(-DOSBX_BUILD_TOOLS=OFF).")
  endif()
  add_library(osbx_cjson STATIC EXCLUDE_FROM_ALL ${OSBX_CJSON_SOURCE}/cJSON.c)
  get_filename_component(above ${OSBX_CJSON_SOURCE} DIRECTORY)
  target_include_directories(osbx_cjson SYSTEM INTERFACE ${above}) # <cjson/cJSON.h>
  target_compile_options(osbx_cjson PRIVATE -ffunction-sections -fdata-sections -fstack-protector-strong)

  find_library(OSBX_SODIUM_ARCHIVE libsodium.a REQUIRED)
  set(abseil ${ABSL_STATIC_LIBRARIES})
  list(FILTER abseil INCLUDE REGEX "^absl_")
  list(TRANSFORM abseil REPLACE "^(.+)$" "-l:lib\\1.a")
  add_library(osbx_static_libraries INTERFACE)
  target_link_directories(osbx_static_libraries INTERFACE ${ABSL_STATIC_LIBRARY_DIRS})
  target_link_libraries(osbx_static_libraries INTERFACE osbx_cjson Boost::headers ${abseil} ${OSBX_SODIUM_ARCHIVE}
    Threads::Threads)
endfunction()

if(OSBX_PROGRAM_ONLY OR (OSBX_BUILD_TOOLS AND NOT OSBX_SANITIZE))
  osbx_static_libraries()
endif()
