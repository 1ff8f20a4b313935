#include "commands.h"
int commands_add(config *c, mcp_server *server, mcp_error *error)
{
    (void)c, (void)server, (void)error;
    return 0;
}
