# What an installation holds: the header, both libraries, osbx.pc, the CMake package, and the documents.
include(CMakePackageConfigHelpers)

install(FILES include/osbx.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS osbx_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS osbx_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES README.md ARCHITECTURE.md CONTRIBUTING.md SECURITY.md CHANGELOG.md LICENSE
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
install(FILES examples/hello.c DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)

# What a program that links libosbx.a needs as well: static abseil and libsodium, and curl, cJSON and OpenSSL shared
# (there is no libcjson.a, and a static libcurl wants Kerberos and LDAP). pkg-config knows abseil's closure and its order.
set(static_libraries ${ABSL_STATIC_LIBRARIES})
list(FILTER static_libraries INCLUDE REGEX "^absl_")
list(TRANSFORM static_libraries REPLACE "^(.+)$" "-l:lib\\1.a")
list(APPEND static_libraries -l:libsodium.a -lcurl -lcjson -lssl -lcrypto -lstdc++ -lm -lpthread)
list(JOIN static_libraries " " static_libraries_line)

# Paths are relative to osbx.pc, so that an installed tree can be moved. With DESTDIR nothing changes.
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(pc_libdir ${CMAKE_INSTALL_FULL_LIBDIR})
  set(pc_includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
  file(RELATIVE_PATH pc_up "/${pkgconfig_dir}" "/")
  string(REGEX REPLACE "/$" "" pc_up "${pc_up}")
  set(pc_prefix "\${pcfiledir}/${pc_up}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
foreach(pc osbx osbx-library)
  configure_file(pkgconfig/${pc}.pc.in ${pc}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${pc}.pc DESTINATION ${pkgconfig_dir})
endforeach()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/osbx)
configure_package_config_file(cmake/osbx-config.cmake.in osbx-config.cmake INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(osbx-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/osbx-config.cmake ${PROJECT_BINARY_DIR}/osbx-config-version.cmake
  DESTINATION ${package_dir})
