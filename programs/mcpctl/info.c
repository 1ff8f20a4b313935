/* info.c: mcpctl info. */
#include "mcpctl.h"

static void line(const char *label, mcp_str value)
{
    if (!value.len)
        return;
    printf("%-14s", label);
    text_put(stdout, value, TEXT_LINE);
    putchar('\n');
}

/* "subscribe, listChanged": the members of a capability that are switched on. */
static void put_switches(const mcp_json *capability)
{
    mcp_json_iter it = {0};
    mcp_str key;
    const char *separator = " (";
    for (const mcp_json *v; (v = mcp_json_next(capability, &it, &key)) != NULL;) {
        if (mcp_json_is(v, MCP_JSON_BOOL) && !mcp_json_bool(v, false))
            continue;
        fputs(separator, stdout);
        text_put(stdout, key, TEXT_LINE);
        separator = ", ";
    }
    if (separator[0] == ',')
        putchar(')');
}

static void put_capabilities(const mcp_json *capabilities)
{
    mcp_json_iter it = {0};
    mcp_str key;
    const char *label = "capabilities:";
    for (const mcp_json *v; (v = mcp_json_next(capabilities, &it, &key)) != NULL; label = "") {
        printf("%-14s", label);
        text_put(stdout, key, TEXT_LINE);
        put_switches(v);
        putchar('\n');
    }
}

static int print_text(const ctl *c)
{
    static const struct {
        const char *label, *key;
    } lines[] = {
        {"name:", "name"},          {"title:", "title"},
        {"version:", "version"},    {"description:", "description"},
        {"website:", "websiteUrl"},
    };
    const mcp_json *info = mcp_client_server_info(c->client);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        line(lines[i].label, mcp_json_string(mcp_json_get(info, lines[i].key)));
    printf("%-14s%s (%s)\n", "revision:", mcp_client_revision(c->client),
           mcp_client_is_modern(c->client) ? "modern" : "legacy");
    put_capabilities(mcp_client_server_capabilities(c->client));
    printf("%-14s%lld.%lld ms\n", "first answer:", (long long)(c->first_answer_us / 1000),
           (long long)(c->first_answer_us % 1000 / 100));
    mcp_str instructions = mcp_client_instructions(c->client);
    if (instructions.len) {
        fputs("\n", stdout);
        text_put(stdout, instructions, TEXT_BLOCK);
        fputs("\n", stdout);
    }
    return EXIT_OK;
}

static void add_value(mcp_json_writer *w, const char *key, const mcp_json *value)
{
    if (!value)
        return;
    mcp_json_key(w, key);
    mcp_json_add_value(w, value);
}

static int print_json(const ctl *c)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(w);
    mcp_json_key(w, "revision"), mcp_json_add_string(w, mcp_client_revision(c->client));
    mcp_json_key(w, "modern"), mcp_json_add_bool(w, mcp_client_is_modern(c->client));
    mcp_json_key(w, "firstAnswerMs");
    mcp_json_add_real(w, (double)c->first_answer_us / 1000);
    add_value(w, "serverInfo", mcp_client_server_info(c->client));
    add_value(w, "capabilities", mcp_client_server_capabilities(c->client));
    if (mcp_client_instructions(c->client).len) {
        mcp_json_key(w, "instructions");
        mcp_json_add_str(w, mcp_client_instructions(c->client));
    }
    mcp_json_end(w);
    mcp_str text;
    int rc = mcp_json_writer_finish(w, &text);
    if (rc == MCP_OK) {
        put_json_text(c, text);
        putchar('\n');
    } else {
        say("%s", mcp_error_text(rc));
    }
    mcp_json_writer_free(w);
    return rc == MCP_OK ? EXIT_OK : EXIT_LOCAL;
}

int run_info(ctl *c)
{
    return c->set.json ? print_json(c) : print_text(c);
}
