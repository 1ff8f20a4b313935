/* question_rig.h: a program that answers the requests of a server to its client. */
#ifndef MCP_TESTS_QUESTION_RIG_H
#define MCP_TESTS_QUESTION_RIG_H

#include "fake_server.h"

#define MODERN                                                                                    \
    {                                                                                             \
        "server/discover", RESULT("{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{}}") \
    }
#define LEGACY(version)                                                                    \
    {"server/discover", ERROR("-32601", "")},                                              \
    {                                                                                      \
        "initialize",                                                                      \
            RESULT("{\"protocolVersion\":\"" version "\"," SERVER ",\"capabilities\":{}}") \
    }
#define FORM                                                                                       \
    "{\"message\":\"who?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"name\":"     \
    "{\"type\":\"string\"},\"age\":{\"type\":\"integer\",\"default\":7}},\"required\":[\"name\"]}" \
    "}"
#define URL                                                                 \
    "{\"mode\":\"url\",\"message\":\"go\",\"url\":\"https://a.example/x\"," \
    "\"elicitationId\":\"e1\"}"
#define SAMPLE                                                                            \
    "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"x\"}}]," \
    "\"maxTokens\":9}"
#define SAMPLED \
    "{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"t\"},\"model\":\"m\"}"
#define ASK(id, method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":" params "}"

/* What the program does with a question. */
typedef enum act { LATER, ACCEPT, DECLINE, CANCEL, SAMPLED_IT, ROOTS, FAIL, SCRIPTED } act;

typedef struct program {
    fake fake;
    act act;
    mcp_question *open[8];
    size_t asked, withdrawn;
    char completed[32];
} program;

static inline void on_withdrawn(mcp_question *question, void *user)
{
    program *p = user;
    assert_non_null(question);
    p->withdrawn++;
}

static inline int answer(mcp_question *q, act how)
{
    static const mcp_root roots[] = {{.size = sizeof(mcp_root), .uri = "file:///a", .name = "A"},
                                     {.size = sizeof(mcp_root), .uri = "file:///b"}};
    mcp_error error = {0};
    switch (how) {
    case ACCEPT:
        return mcp_question_accept(
            q, mcp_question_kind_of(q) == MCP_QUESTION_FORM ? "{\"name\":\"n\"}" : NULL, &error);
    case DECLINE: return mcp_question_decline(q);
    case CANCEL: return mcp_question_cancel(q);
    case SAMPLED_IT: return mcp_question_sampled(q, SAMPLED, &error);
    case ROOTS: return mcp_question_roots(q, roots, 2, &error);
    case FAIL: return mcp_question_fail(q, 0, NULL);
    default: return MCP_OK;
    }
}

static inline void on_question(mcp_client *client, mcp_question *question, void *user)
{
    program *p = user;
    assert_ptr_equal(client, p->fake.client);
    assert_non_null(mcp_question_params(question));
    mcp_question_on_cancel(question, on_withdrawn, p);
    if (p->act == LATER)
        p->open[p->asked % MCP__COUNT(p->open)] = question;
    else
        assert_int_equal(answer(question, p->act), MCP_OK);
    p->asked++;
}

static inline void on_completed(mcp_client *client, mcp_str id, void *user)
{
    program *p = user;
    (void)client;
    size_t at = strlen(p->completed);
    snprintf(p->completed + at, sizeof(p->completed) - at, "%.*s ", (int)id.len, id.ptr);
}

static inline mcp_client_options options_of(program *p)
{
    *p = (program){0};
    return (mcp_client_options){.size = sizeof(mcp_client_options),
                                .user = p,
                                .elicit_form = on_question,
                                .elicit_url = on_question,
                                .sample = on_question,
                                .roots = on_question,
                                .elicitation_complete = on_completed};
}

#endif
