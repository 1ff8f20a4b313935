/* sample.c: requests of a server for the answer of a language model. */
#include "sample.h"

#include <stdlib.h>

#include <common/filter.h>

#include "content.h"

enum { LONGEST_MS = 600000 };

/* ---- the request ----------------------------------------------------------------------------- */

static void put_message(lines *l, const mcp_json *message)
{
    const mcp_json *content = mcp_json_get(message, "content");
    mcp_json_iter it = {0};
    lines_begin(l, 0, 0, 0);
    lines_put(l, LOOK_HEADING, mcp_json_string(mcp_json_get(message, "role")));
    lines_end(l);
    if (!mcp_json_is(content, MCP_JSON_ARRAY))
        content_block(l, content);
    for (const mcp_json *one;
         mcp_json_is(content, MCP_JSON_ARRAY) && (one = mcp_json_next(content, &it, NULL)) != NULL;)
        content_block(l, one);
}

/* What is neither a message nor the system prompt: the number of tokens, the preferred models, tools. */
static void put_others(lines *l, const mcp_json *params)
{
    mcp_json_iter it = {0};
    mcp_str name;
    for (const mcp_json *v; (v = mcp_json_next(params, &it, &name)) != NULL;) {
        if (mcp_str_eq(name, MCP_STR("messages")) || mcp_str_eq(name, MCP_STR("systemPrompt")) ||
            mcp_str_eq(name, MCP_STR("_meta")))
            continue;
        lines_begin(l, 0, 2, 0);
        lines_put(l, LOOK_NAME, name);
        lines_end(l);
        json_put_value(l, v, 1, 3);
    }
}

void sample_put(lines *l, const mcp_json *params)
{
    mcp_str system = mcp_json_string(mcp_json_get(params, "systemPrompt"));
    mcp_json_iter it = {0};
    if (system.len) {
        lines_put(l, LOOK_HEADING, MCP_STR("system prompt"));
        lines_end(l);
        lines_put_text(l, LOOK_PLAIN, system);
    }
    for (const mcp_json *m; (m = mcp_json_next(mcp_json_get(params, "messages"), &it, NULL));)
        put_message(l, m);
    put_others(l, params);
    if (l->is_open)
        lines_end(l);
}

/* ---- the command ----------------------------------------------------------------------------- */

struct sampler {
    char *command, *request, *text;
    atomic_bool stop;
    sampler_fn *done;
    void *user;
};

static void run(void *arg)
{
    sampler *s = arg;
    const char *const argv[] = {"/bin/sh", "-c", s->command, NULL};
    int status = filter_run(&(filter_call){.argv = argv,
                                           .input = mcp_str_from(s->request),
                                           .partly = true,
                                           .ms = LONGEST_MS,
                                           .stop = &s->stop},
                            &s->text);
    if (status != 0) {
        free(s->text);
        s->text = NULL;
    }
}

static void finish(void *arg)
{
    sampler *s = arg;
    if (!atomic_load(&s->stop))
        s->done(s->text, s->user);
    free(s->text);
    free(s->request);
    free(s->command);
    free(s);
}

sampler *sampler_start(const mcp_host *host, const char *command, mcp_str request, sampler_fn *done,
                       void *user)
{
    sampler *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->done = done;
    s->user = user;
    s->command = text_dup(mcp_str_from(command));
    s->request = text_dup(request);
    if (s->command && s->request && host->work_long(run, finish, s, host->user) == MCP_OK)
        return s;
    free(s->request);
    free(s->command);
    free(s);
    return NULL;
}

void sampler_stop(sampler *s)
{
    if (s)
        atomic_store(&s->stop, true);
}
