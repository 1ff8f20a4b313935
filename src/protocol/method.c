/* method.c: see method.h. */
#include "protocol/method.h"

enum { READS = MCP__REPEATABLE | MCP__CACHEABLE };

static const mcp__method_row rows[MCP__METHODS] = {
    [MCP__METHOD_READ] = {.name = MCP_STR("resources/read"),
                          .traits = READS | MCP__MAY_ASK | MCP__NAME_IN_HEADER,
                          .target = "uri",
                          .item = MCP_ITEM_RESOURCE},
    [MCP__METHOD_CALL] = {.name = MCP_STR("tools/call"),
                          .traits = MCP__MAY_ASK | MCP__NAME_IN_HEADER,
                          .target = "name",
                          .item = MCP_ITEM_TOOL},
    [MCP__METHOD_LIST_RESOURCES] = {.name = MCP_STR("resources/list"), .traits = READS},
    [MCP__METHOD_LIST_TEMPLATES] = {.name = MCP_STR("resources/templates/list"), .traits = READS},
    [MCP__METHOD_LIST_TOOLS] = {.name = MCP_STR("tools/list"), .traits = READS},
    [MCP__METHOD_LIST_PROMPTS] = {.name = MCP_STR("prompts/list"), .traits = READS},
    [MCP__METHOD_GET_PROMPT] = {.name = MCP_STR("prompts/get"),
                                .traits = MCP__REPEATABLE | MCP__MAY_ASK | MCP__NAME_IN_HEADER,
                                .target = "name",
                                .item = MCP_ITEM_PROMPT},
    [MCP__METHOD_COMPLETE] = {.name = MCP_STR("completion/complete"), .traits = MCP__REPEATABLE},
    [MCP__METHOD_TASK_GET] = {.name = MCP_STR("tasks/get"),
                              .traits = MCP__ABOUT_TASK | MCP__NAME_IN_HEADER,
                              .target = "taskId"},
    [MCP__METHOD_TASK_UPDATE] = {.name = MCP_STR("tasks/update"),
                                 .traits = MCP__ABOUT_TASK | MCP__NAME_IN_HEADER,
                                 .target = "taskId"},
    [MCP__METHOD_TASK_CANCEL] = {.name = MCP_STR("tasks/cancel"),
                                 .traits = MCP__ABOUT_TASK | MCP__NAME_IN_HEADER,
                                 .target = "taskId"},
    [MCP__METHOD_TASK_RESULT] = {.name = MCP_STR("tasks/result"),
                                 .traits = MCP__ABOUT_TASK,
                                 .target = "taskId"},
    [MCP__METHOD_TASK_LIST] = {.name = MCP_STR("tasks/list")},
    [MCP__METHOD_DISCOVER] = {.name = MCP_STR("server/discover"), .traits = READS},
    [MCP__METHOD_LISTEN] = {.name = MCP_STR("subscriptions/listen"), .traits = MCP__IS_STREAM},
    [MCP__METHOD_INITIALIZE] = {.name = MCP_STR("initialize")},
    [MCP__METHOD_PING] = {.name = MCP_STR("ping")},
    [MCP__METHOD_SET_LEVEL] = {.name = MCP_STR("logging/setLevel"),
                               .traits = MCP__OF_SESSION | MCP__OF_STATE},
    [MCP__METHOD_SUBSCRIBE] = {.name = MCP_STR("resources/subscribe"),
                               .traits = MCP__OF_SESSION | MCP__OF_STATE,
                               .target = "uri",
                               .item = MCP_ITEM_RESOURCE},
    [MCP__METHOD_UNSUBSCRIBE] = {.name = MCP_STR("resources/unsubscribe"),
                                 .traits = MCP__OF_SESSION,
                                 .target = "uri",
                                 .item = MCP_ITEM_RESOURCE},
    [MCP__METHOD_INITIALIZED] = {.name = MCP_STR("notifications/initialized"),
                                 .traits = MCP__IS_NOTICE},
    [MCP__METHOD_CANCELLED] = {.name = MCP_STR("notifications/cancelled"),
                               .traits = MCP__IS_NOTICE},
    [MCP__METHOD_NONE] = {.name = {"", 0}},
    [MCP__METHOD_OTHER] = {.name = MCP_STR("other")},
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
