# mcp_load_of(name load cost): whether a test computes or waits, and about how many seconds it takes with the
# address sanitizer; those that take longest are started first. A test without a row in the table takes a few seconds,
# and computes if it starts no other process. `scripts/count-tests` prints the slowest tests of a run.
set(mcp_loads
    "interop/mcpctl waits 145"
    "programs/git_differential waits 90"
    "programs/hostile_stdio waits 75"
    "hostile/upstreams waits 65"
    "interop/browse_go waits 65"
    "interop/resource-tools waits 65"
    "programs/packaging waits 60"
    "interop/page waits 55"
    "programs/examples waits 55"
    "programs/approve waits 50"
    "interop/sdk2 waits 50"
    "test_postgres_network waits 50"
    "interop/outage waits 50"
    "interop/sdk1 waits 50"
    "interop/resources waits 45"
    "conformance/gateway-pinned-http waits 45"
    "test_postgres_memory waits 45"
    "conformance/gateway-pinned-stdio waits 45"
    "programs/hostile_http waits 45"
    "programs/tasks waits 45"
    "interop/everything waits 40"
    "test_io_sandbox_table waits 40"
    "programs/config waits 35"
    "test_editing_faults waits 35"
    "test_editing_races waits 30"
    "test_editing_guarded computes 15"
    "programs/failing waits 35"
    "interop/servers_sdk2 waits 35"
    "programs/workers_watch waits 35"
    "programs/mcpctl_json waits 30"
    "interop/tools waits 30"
    "interop/page-login waits 30"
    "programs/decisions waits 35"
    "programs/proxies waits 30"
    "interop/mcpctl-login waits 30"
    "programs/postgres waits 30"
    "test_access_generated waits 25"
    "programs/git_attacks_near waits 25"
    "hostile/inject waits 25"
    "programs/git waits 25"
    "programs/git_attacks waits 25"
    "programs/postgres_network waits 25"
    "interop/http waits 25"
    "programs/browse waits 25"
    "test_postgres_load waits 25"
    "programs/git_near waits 20"
    "programs/http waits 20"
    "programs/mcpctl_commands waits 20"
    "programs/mcpctl_web waits 20"
    "interop/oauth-life waits 20"
    "conformance/gateway-twice-stdio waits 20"
    "programs/sqlite waits 20"
    "programs/upstream waits 20"
    "programs/mcpd waits 20"
    "programs/mcpctl_shell waits 20"
    "programs/isolated waits 20"
    "interop/servers_ts1 waits 20"
    "interop/prompts waits 20"
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
