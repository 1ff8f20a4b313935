# mcp_load_of(name load cost): whether a test computes or waits, and about how many seconds it takes with the
# address sanitizer; those that take longest are started first. A test without a row in the table takes a few seconds,
# and computes if it starts no other process. `scripts/count-tests` prints the slowest tests of a run.
set(mcp_loads
)
function(mcp_load_of name load cost)
    set(kind waits)
    if(name MATCHES "^(test_(auth|base|browse|channel|client|http|json|jsonrpc|mcpd|protocol|schema|server|uri|web|search|prompts|common)_|transcript|fuzz/|checks/)")
        set(kind computes)
    endif()
    set(seconds 3)
    foreach(row IN LISTS mcp_loads)
        separate_arguments(row)
        list(GET row 0 row_name)
        if(row_name STREQUAL name)
            list(GET row 1 kind)
            list(GET row 2 seconds)
        endif()
    endforeach()
    set(${load} ${kind} PARENT_SCOPE)
    set(${cost} ${seconds} PARENT_SCOPE)
endfunction()
