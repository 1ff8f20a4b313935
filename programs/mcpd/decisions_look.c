/* decisions_look.c: what --doctor says about the policy server: it is asked about a request that nobody sent. */
#include <stdlib.h>

#include "decisions.h"
#include "doctor.h"
#include "secret.h"

enum { PATIENCE_MS = 5000, MOST_BYTES = 65536 };

typedef struct looking {
    bool done;
    int rc;
    decision answer;
} looking;

static void on_done(int rc, const mcp_fetched *fetched, const mcp_error *error, void *user)
{
    looking *l = user;
    l->done = true;
    decisions_read(rc, fetched, error, &l->answer);
}

static void ask(const decisions_place *place, const char *authorization, const char *question,
                looking *l)
{
    mcp_error error = {0};
    mcp_loop *loop = NULL;
    int rc = mcp_loop_new(NULL, &loop, &error);
    if (rc == MCP_OK)
        rc = mcp_loop_fetch(loop,
                            MCP_OPTIONS(mcp_fetch_options, .url = place->url,
                                        .unix_socket = place->socket, .json = question,
                                        .accept = "application/json",
                                        .authorization = authorization, .timeout_ms = PATIENCE_MS,
                                        .max_bytes = MOST_BYTES, .allow_private = true,
                                        .no_redirect = true, .done = on_done, .user = l),
                            NULL, &error);
    while (rc == MCP_OK && !l->done)
        mcp_loop_step(loop, PATIENCE_MS);
    if (rc != MCP_OK)
        decisions_read(rc, NULL, &error, &l->answer);
    mcp_loop_free(loop);
}

void decisions_look(const settings *now)
{
    static const char *const words[] = {"deny", "ask", "allow"};
    decisions_place place = {.url = NULL};
    mcp_error error = {0};
    looking l = {.done = false};
    char *authorization = NULL, *question = decisions_probe();
    if (!now->decisions) {
        free(question);
        return;
    }
    int rc = question ? decisions_place_read(now->decisions, &place, &error) : MCP_ENOMEM;
    if (rc == MCP_OK && now->decisions_auth_file)
        rc = secret_load(now->decisions_auth_file, &authorization, &error);
    if (rc == MCP_OK)
        ask(&place, authorization, question, &l);
    if (rc != MCP_OK)
        doctor_find(FINDING_WRONG, "decisions", "%s",
                    error.text[0] ? error.text : mcp_error_text(rc));
    else if (l.answer.failed)
        doctor_find(FINDING_WRONG, "decisions", "%s makes none: %s; everything would be denied",
                    now->decisions, l.answer.text);
    else
        doctor_find(FINDING_OK, "decisions", "%s decides: %s for a request of nobody",
                    now->decisions, words[l.answer.effect]);
    decisions_place_clear(&place);
    free(authorization);
    free(question);
}
