# To add a revision, add its name to revision.h and its row to revision.c (docs/architecture.md). Here that is done:
# a copy of the newest row under an invented name stands before it, the layers that know the table are built with
# that, and every transcript runs in the invented revision.
mcp_is_linked(linked transcripts)
if(NOT linked OR NOT TARGET mcp_layer_server)
    return()
endif()
set(protocol ${PROJECT_SOURCE_DIR}/src/protocol)
set(copy ${CMAKE_CURRENT_BINARY_DIR}/one_more_revision)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${protocol}/revision.h ${protocol}/revision.c)

file(READ ${protocol}/revision.h header)
string(REPLACE "    MCP__ROW_2026_07_28,\n" "    MCP__ROW_2099_01_01,\n    MCP__ROW_2026_07_28,\n" changed "${header}")
file(READ ${protocol}/revision.c table)
string(FIND "${table}" "    [MCP__ROW_2026_07_28]" first)
string(FIND "${table}" "    [MCP__ROW_2025_11_25]" second)
if(changed STREQUAL header OR first EQUAL -1 OR second LESS first)
    message(FATAL_ERROR "tests/one_more_revision.cmake does not find the rows of the table of revisions any more")
endif()
math(EXPR length "${second} - ${first}")
string(SUBSTRING "${table}" ${first} ${length} row)
string(REPLACE "2026_07_28" "2099_01_01" row "${row}")
string(REPLACE "2026-07-28" "2099-01-01" row "${row}")
string(SUBSTRING "${table}" 0 ${first} before)
string(SUBSTRING "${table}" ${first} -1 after)
file(CONFIGURE OUTPUT ${copy}/protocol/revision.h CONTENT "${changed}" @ONLY)
file(CONFIGURE OUTPUT ${copy}/protocol/revision.c CONTENT "${before}${row}${after}" @ONLY)

file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/protocol/*.c ${PROJECT_SOURCE_DIR}/src/channel/*.c
     ${PROJECT_SOURCE_DIR}/src/server/*.c)
list(REMOVE_ITEM sources ${protocol}/revision.c)
add_library(one_more_revision STATIC ${sources} ${copy}/protocol/revision.c)
target_include_directories(one_more_revision PRIVATE ${copy} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(one_more_revision PRIVATE $<TARGET_NAME_IF_EXISTS:PkgConfig::libcrypto>
                      PUBLIC mcp_layer_schema mcp_layer_jsonrpc mcp_layer_uri mcp_layer_json mcp_layer_base)

mcp_test_program(transcript_runner_one_more ${runner} LABELS transcripts LINK one_more_revision)
set(in_new ${transcripts})
list(TRANSFORM in_new PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/transcripts/)
add_test(NAME transcripts_one_more_revision
         COMMAND transcript_runner_one_more --plain --newest 2099-01-01 ${in_new})
mcp_test(transcripts_one_more_revision 120 transcripts)
