/* A minimal program with the transports: creates an empty loop, which ends at once. */
#include <mcp/io.h>

int main(void)
{
    mcp_loop *loop = NULL;
    mcp_error error;
    if (mcp_loop_new(NULL, &loop, &error) < 0)
        return 1;
    int result = mcp_loop_run(loop);
    mcp_loop_free(loop);
    return result != MCP_OK;
}
