/* instance.c: the instance at which a call of a modern client waits for the answer to a question.
 *
 * A modern request has no session. If its handler keeps something in its process
 * (mcp_request_stay()), the requestState is followed by the name and the address of the instance,
 * sealed for the caller and the view. Whichever instance gets the next request forwards it there. The place only
 * says where to ask: the instance that is found checks the state itself.
 */
#include "http/server/http_session.h"

#include <mcp/sys/server.h>

enum { NAME = MCP__INSTANCE_NAME };

static void put_purpose(mcp__buf *b, const mcp_http_connection *c)
{
    mcp__buf_init(b, c->http->allocator, 0);
    mcp__buf_lit(b, "place ");
    mcp__buf_char(b, mcp__http_binding(c) ? 'n' : 'a');
    mcp__buf_str(b, mcp_str_from(mcp__http_binding(c)));
}

size_t mcp__wait_address_put(mcp_http_connection *c, char to[MCP_WAIT_ADDRESS_ROOM])
{
    const mcp_http *http = c->http;
    mcp__buf purpose, plain;
    size_t len = 0;
    if (!http->fleet)
        return 0;
    put_purpose(&purpose, c);
    mcp__buf_init(&plain, http->allocator, 0);
    mcp__buf_add(&plain, http->fleet->instance, NAME);
    mcp__buf_str(&plain, mcp_str_from(http->options.instance_address));
    if (purpose.failed || plain.failed ||
        mcp_server_seal(http->server, mcp__buf_view(&purpose), mcp__buf_view(&plain),
                        http->options.session_life_ms, to, MCP_WAIT_ADDRESS_ROOM, &len) != MCP_OK)
        len = 0; /* the next request is handled where it arrives */
    mcp__buf_free(&purpose);
    mcp__buf_free(&plain);
    return len;
}

/* Opens the place that follows a state. Returns its length in `text`, or 0. */
static size_t open_place(const mcp_http_connection *c, mcp_str state,
                         char text[MCP_WAIT_ADDRESS_ROOM])
{
    const char *dot = state.len ? memchr(state.ptr, '.', state.len) : NULL;
    mcp__buf purpose;
    size_t len = 0;
    if (!dot)
        return 0;
    mcp_str place = mcp__str_sub(state, (size_t)(dot - state.ptr) + 1);
    put_purpose(&purpose, c);
    if (purpose.failed || place.len > MCP_WAIT_ADDRESS_ROOM ||
        mcp_server_unseal(c->http->server, mcp__buf_view(&purpose), place, text,
                          MCP_WAIT_ADDRESS_ROOM, &len, NULL) != MCP_OK)
        len = 0;
    mcp__buf_free(&purpose);
    return len > NAME && len <= NAME + MCP__ADDRESS_MAX ? len : 0;
}

bool mcp__wait_address_forward(mcp_http_connection *c, mcp_str state, mcp__http_refusal *why)
{
    const struct mcp__fleet *fleet = c->http->fleet;
    char text[MCP_WAIT_ADDRESS_ROOM], instance[NAME + 1];
    if (!fleet || !c->http->relays.send || c->is_forwarded || c->instance_gone || c->head.repeated)
        return false;
    size_t len = open_place(c, state, text);
    if (!len || memcmp(text, fleet->instance, NAME) == 0)
        return false;
    memcpy(instance, text, NAME);
    instance[NAME] = 0;
    const mcp__forward_head head = mcp__forward_head_of(c);
    *why = mcp__relay_start(c, instance, (mcp_str){text + NAME, len - NAME}, &head);
    return true;
}
