/* method.c: see method.h. */
#include "protocol/method.h"

enum { READS = MCP__REPEATABLE | MCP__CACHEABLE };

static const mcp__method_row rows[MCP__METHODS] = {
    [MCP__METHOD_READ] = {MCP_STR("resources/read"), READS | MCP__MAY_ASK | MCP__NAME_IN_HEADER,
                          "uri", MCP_ITEM_RESOURCE},
    [MCP__METHOD_CALL] = {MCP_STR("tools/call"), MCP__MAY_ASK | MCP__NAME_IN_HEADER, "name",
                          MCP_ITEM_TOOL},
    [MCP__METHOD_LIST_RESOURCES] = {MCP_STR("resources/list"), READS},
    [MCP__METHOD_LIST_TEMPLATES] = {MCP_STR("resources/templates/list"), READS},
    [MCP__METHOD_LIST_TOOLS] = {MCP_STR("tools/list"), READS},
    [MCP__METHOD_LIST_PROMPTS] = {MCP_STR("prompts/list"), READS},
    [MCP__METHOD_GET_PROMPT] = {MCP_STR("prompts/get"),
                                MCP__REPEATABLE | MCP__MAY_ASK | MCP__NAME_IN_HEADER, "name",
                                MCP_ITEM_PROMPT},
    [MCP__METHOD_COMPLETE] = {MCP_STR("completion/complete"), MCP__REPEATABLE},
    [MCP__METHOD_TASK_GET] = {MCP_STR("tasks/get"), MCP__ABOUT_TASK | MCP__NAME_IN_HEADER,
                              "taskId"},
    [MCP__METHOD_TASK_UPDATE] = {MCP_STR("tasks/update"), MCP__ABOUT_TASK | MCP__NAME_IN_HEADER,
                                 "taskId"},
    [MCP__METHOD_TASK_CANCEL] = {MCP_STR("tasks/cancel"), MCP__ABOUT_TASK | MCP__NAME_IN_HEADER,
                                 "taskId"},
    [MCP__METHOD_TASK_RESULT] = {MCP_STR("tasks/result"), MCP__ABOUT_TASK, "taskId"},
    [MCP__METHOD_TASK_LIST] = {MCP_STR("tasks/list")},
    [MCP__METHOD_DISCOVER] = {MCP_STR("server/discover"), READS},
    [MCP__METHOD_LISTEN] = {MCP_STR("subscriptions/listen"), MCP__IS_STREAM},
    [MCP__METHOD_INITIALIZE] = {MCP_STR("initialize")},
    [MCP__METHOD_PING] = {MCP_STR("ping")},
    [MCP__METHOD_SET_LEVEL] = {MCP_STR("logging/setLevel"), MCP__OF_SESSION | MCP__OF_STATE},
    [MCP__METHOD_SUBSCRIBE] = {MCP_STR("resources/subscribe"), MCP__OF_SESSION | MCP__OF_STATE,
                               "uri", MCP_ITEM_RESOURCE},
    [MCP__METHOD_UNSUBSCRIBE] = {MCP_STR("resources/unsubscribe"), MCP__OF_SESSION, "uri",
                                 MCP_ITEM_RESOURCE},
    [MCP__METHOD_INITIALIZED] = {MCP_STR("notifications/initialized"), MCP__IS_NOTICE},
    [MCP__METHOD_CANCELLED] = {MCP_STR("notifications/cancelled"), MCP__IS_NOTICE},
    [MCP__METHOD_NONE] = {{"", 0}},
    [MCP__METHOD_OTHER] = {MCP_STR("other")},
};

mcp__method_id mcp__method_find(mcp_str name)
{
    for (unsigned i = 0; i < MCP__METHOD_OTHER; i++) {
        if (mcp_str_eq(name, rows[i].name))
            return i;
    }
    return MCP__METHOD_OTHER;
}

const mcp__method_row *mcp__method_of(mcp__method_id id)
{
    return &rows[id];
}

bool mcp__method_is(mcp_str name, unsigned traits)
{
    return (rows[mcp__method_find(name)].traits & traits) != 0;
}
