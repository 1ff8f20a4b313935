#include "provider.h"
int repo_run_refs(repo_job *j)
{
    (void)j;
    return MCP_ENOTFOUND;
}
int repo_run_commit(repo_job *j)
{
    (void)j;
    return MCP_ENOTFOUND;
}
int repo_run_log(repo_job *j)
{
    (void)j;
    return MCP_ENOTFOUND;
}
int repo_run_diff(repo_job *j)
{
    (void)j;
    return MCP_ENOTFOUND;
}
int repo_run_blame(repo_job *j)
{
    (void)j;
    return MCP_ENOTFOUND;
}
int repo_complete(mcp_request *r, mcp_str n, mcp_str v, const mcp_json *c, void *u)
{
    (void)r, (void)n, (void)v, (void)c, (void)u;
    return MCP_OK;
}
int repo_resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    (void)uri, (void)canonical, (void)room, (void)user;
    return MCP_ENOTFOUND;
}
int repo_watch_add(const char *c, void *u)
{
    (void)c, (void)u;
    return MCP_OK;
}
void repo_watch_remove(const char *c, void *u)
{
    (void)c, (void)u;
}
int repo_watch_list(void *u)
{
    (void)u;
    return MCP_OK;
}
void repo_unwatch_list(void *u)
{
    (void)u;
}
void repo_watch_free(repo *r)
{
    (void)r;
}
