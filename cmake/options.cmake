# The options of the build, and the compiler flags that follow from them. The flags apply to this
# project's folders only, not to a project that includes this one.
include(GNUInstallDirs)

option(MCP_BUILD_IO "Build libmcp-io: event loop, stdio, HTTP (needs libuv, libllhttp, libcurl, libssl)" ON)
option(MCP_BUILD_PROVIDERS "Build the providers (files)" ON)
option(MCP_MODULE_SQLITE "Build the module sqlite (needs libsqlite3)" ON)
option(MCP_MODULE_POSTGRES "Build the module postgres (needs libpq)" ON)
option(MCP_MODULE_GIT "Build the module git (needs libgit2 and zlib)" ON)
option(MCP_BUS_REDIS "Build the bus on Redis and Valkey (needs hiredis)" ON)
set(MCP_STATIC_MODULES "" CACHE STRING "Modules that are linked into mcpd instead of loaded: 'sqlite;postgres'")
option(MCP_BUILD_PROGRAMS "Build mcpd and mcpctl" ON)
option(MCP_BUILD_BROWSE "Build mcpctl-browse (needs ncursesw and md4c)" ON)
option(MCP_BUILD_WEB "Build mcpctl-web (uses md4c if it is there)" ON)
option(MCP_BUILD_EXAMPLES "Build the example programs" ${PROJECT_IS_TOP_LEVEL})
option(MCP_BUILD_TESTS "Build the tests (needs cmocka)" ${PROJECT_IS_TOP_LEVEL})
set(MCP_TESTS all CACHE STRING "Labels of the tests that are linked and run, or 'all'; the others are only compiled")
option(MCP_BUILD_FUZZERS "Build the libFuzzer targets (needs clang)" OFF)
option(MCP_BUILD_BENCH "Build the benchmarks" OFF)
option(MCP_WERROR "Treat warnings as errors" OFF)
option(MCP_COVERAGE "Count which lines run" OFF)
option(MCP_TLS_LINK "Link OpenSSL instead of loading it with the first certificate or sealed state" OFF)
option(MCP_CURL_LINK "Link libcurl instead of loading it with the first HTTP client" OFF)
option(MCP_SECCOMP_LINK "Link libseccomp instead of loading it with the first sandbox" OFF)
option(MCP_STATIC_PROGRAMS "Build mcpd and mcpctl as one static program each: all modules, libraries and parts in it" OFF)
set(MCP_PARTS_MCPD "" CACHE STRING "The libraries of others that mcpd contains, for --version --verbose")
set(MCP_PARTS_MCPCTL "" CACHE STRING "The same for mcpctl")
option(MCP_LTO "Optimize across files (gcc)" OFF)
set(MCP_SANITIZE "" CACHE STRING "Sanitizers: 'address,undefined', 'thread' or nothing")

# Without libmcp-io only the engine can be built.
if(NOT MCP_BUILD_IO)
    set(MCP_BUILD_PROVIDERS OFF)
    set(MCP_BUILD_PROGRAMS OFF)
    set(MCP_BUILD_BENCH OFF)
endif()

if(MCP_STATIC_PROGRAMS)
    set(MCP_TLS_LINK ON)
    set(MCP_CURL_LINK ON)
    set(MCP_SECCOMP_LINK ON)
    set(PKG_CONFIG_ARGN --static)
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug or Release" FORCE)
endif()

# A compiler cache that is there is used in the builds of this project alone, so that a second checkout compiles only
# what differs. -DMCP_CCACHE=OFF does without.
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_C_COMPILER_LAUNCHER)
    find_program(MCP_CCACHE ccache)
    if(MCP_CCACHE)
        set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
            CCACHE_NOHASHDIR=1 ${MCP_CCACHE})
        set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
    endif()
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Wundef -Wcast-qual -Wvla -Wwrite-strings
                    -Wpointer-arith $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
                    $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>)
if(MCP_WERROR)
    add_compile_options(-Werror)
endif()

set(CMAKE_C_FLAGS_DEBUG "-g")
if(MCP_SANITIZE)
    # At -O0 the instrumented tests take twice as long. Lines are enough for reports; variables cost a sixth of the build.
    set(CMAKE_C_FLAGS_DEBUG "-O1 -g1")
endif()
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
add_compile_options(-fno-common -fstack-protector-strong)
# Binding all symbols at program start has no measurable cost, because mcpd uses few.
add_link_options(LINKER:--as-needed LINKER:-z,relro LINKER:-z,now)

if(MCP_SANITIZE)
    find_program(MCP_LLD ld.lld) # links in a tenth of the time
    if(MCP_LLD)
        add_link_options(-fuse-ld=lld)
    endif()
    add_compile_options(-fsanitize=${MCP_SANITIZE} -fno-sanitize-recover=all
                        -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${MCP_SANITIZE})
    if(CMAKE_C_COMPILER_ID MATCHES "Clang") # as gcc defines them
        foreach(kind IN ITEMS address thread)
            if(MCP_SANITIZE MATCHES ${kind})
                string(TOUPPER __SANITIZE_${kind}__ macro)
                add_compile_definitions(${macro}=1)
            endif()
        endforeach()
    endif()
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
    add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
        # As with clang, a function of the public API can be inlined within its file. A program that
        # defines a function with such a name does not replace the library's own calls of it.
        add_compile_options(-fno-semantic-interposition)
    endif()
    # The linker removes functions that a program does not call.
    add_compile_options(-ffunction-sections -fdata-sections)
    add_link_options(LINKER:--gc-sections)
endif()
if(MCP_BUILD_FUZZERS)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "MCP_BUILD_FUZZERS needs clang")
    endif()
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(MCP_COVERAGE)
    add_compile_options(--coverage)
    add_link_options(--coverage)
endif()
if(MCP_LTO AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # Off by default: neither start-up nor round trips became measurably faster, and everything is
    # compiled twice. Fat objects keep the installed static libraries usable with every compiler.
    add_compile_options(-flto=auto -ffat-lto-objects)
    add_link_options(-flto=auto)
endif()
