# Installs headers, libraries, programs, man pages, and the files for pkg-config and find_package.
if(NOT TARGET mcp)
    return()
endif()
include(CMakePackageConfigHelpers)
set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mcp)
set(template_dir ${PROJECT_SOURCE_DIR}/cmake)

install(DIRECTORY include/mcp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h)

# There are two export sets, because only the static targets name the packages that they need.
foreach(target IN ITEMS mcp mcp_io)
    if(TARGET ${target})
        install(TARGETS ${target} EXPORT mcpTargets)
        install(TARGETS ${target}_static EXPORT mcpStaticTargets)
    endif()
endforeach()
install(EXPORT mcpTargets NAMESPACE mcp:: DESTINATION ${cmake_dir})
install(EXPORT mcpStaticTargets NAMESPACE mcp:: DESTINATION ${cmake_dir})

configure_package_config_file(${template_dir}/mcpConfig.cmake.in mcpConfig.cmake
                              INSTALL_DESTINATION ${cmake_dir})
write_basic_package_version_file(mcpConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/mcpConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/mcpConfigVersion.cmake
        DESTINATION ${cmake_dir})

# Relative to the .pc file, so that an installed tree can be moved (and DESTDIR works).
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(module IN ITEMS mcp mcp-io)
    string(REPLACE "-" "_" target ${module})
    if(TARGET ${target})
        configure_file(${template_dir}/${module}.pc.in ${module}.pc @ONLY)
        install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${module}.pc
                DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    endif()
endforeach()

foreach(program IN ITEMS mcpd mcpctl mcpctl-browse mcpctl-web)
    if(TARGET ${program})
        install(TARGETS ${program})
    endif()
endforeach()

if(TARGET mcpctl)
    install(FILES programs/mcpctl/client-metadata.json DESTINATION ${CMAKE_INSTALL_DATADIR}/mcp)
endif()

# Shell completions, written by the programs themselves.
set(completion_dirs
    bash ${CMAKE_INSTALL_DATADIR}/bash-completion/completions @
    zsh ${CMAKE_INSTALL_DATADIR}/zsh/site-functions _@
    fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d @.fish)
foreach(program IN ITEMS mcpd mcpctl)
    if(NOT TARGET ${program} OR CMAKE_CROSSCOMPILING)
        continue()
    endif()
    set(rest ${completion_dirs})
    set(scripts "")
    while(rest)
        list(POP_FRONT rest shell dir name)
        string(REPLACE "@" ${program} name ${name})
        set(script ${CMAKE_CURRENT_BINARY_DIR}/completion/${shell}/${name})
        add_custom_command(OUTPUT ${script} DEPENDS ${program}
            COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/completion/${shell}
            COMMAND ${program} --completion ${shell} > ${script})
        install(FILES ${script} DESTINATION ${dir})
        list(APPEND scripts ${script})
    endwhile()
    add_custom_target(${program}_completion ALL DEPENDS ${scripts})
endforeach()

get_property(modules GLOBAL PROPERTY MCP_MODULES)
foreach(module IN LISTS modules)
    install(TARGETS mcp_module_${module} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/mcp)
endforeach()

foreach(section IN ITEMS 1 3 5 7)
    file(GLOB pages CONFIGURE_DEPENDS man/*.${section})
    if(pages)
        install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
    endif()
endforeach()
