/* stubs.c: what mcp/client.h promises and is not there yet. */
#include "client/client.h"

int mcp_client_request(mcp_client *client, const char *method, const char *params,
                       const mcp_call_options *options, mcp_call_id *ret)
{
    (void)client, (void)method, (void)params, (void)options, (void)ret;
    return MCP_EUNSUPPORTED;
}
int mcp_client_list_all(mcp_client *client, const char *method, mcp_page_fn *page,
                        const mcp_call_options *options, mcp_call_id *ret)
{
    (void)client, (void)method, (void)page, (void)options, (void)ret;
    return MCP_EUNSUPPORTED;
}
int mcp_client_read(mcp_client *client, const char *uri, const mcp_call_options *options,
                    mcp_call_id *ret)
{
    (void)client, (void)uri, (void)options, (void)ret;
    return MCP_EUNSUPPORTED;
}
int mcp_client_call_tool(mcp_client *client, const char *name, const char *arguments,
                         const mcp_call_options *options, mcp_call_id *ret)
{
    (void)client, (void)name, (void)arguments, (void)options, (void)ret;
    return MCP_EUNSUPPORTED;
}
int mcp_client_get_prompt(mcp_client *client, const char *name, const char *arguments,
                          const mcp_call_options *options, mcp_call_id *ret)
{
    (void)client, (void)name, (void)arguments, (void)options, (void)ret;
    return MCP_EUNSUPPORTED;
}
int mcp_client_complete(mcp_client *client, const mcp_completion_query *query,
                        const mcp_call_options *options, mcp_call_id *ret)
{
    (void)client, (void)query, (void)options, (void)ret;
    return MCP_EUNSUPPORTED;
}
int mcp_client_ping(mcp_client *client, const mcp_call_options *options, mcp_call_id *ret)
{
    (void)client, (void)options, (void)ret;
    return MCP_EUNSUPPORTED;
}
int mcp_client_cancel(mcp_client *client, mcp_call_id call, const char *reason)
{
    (void)client, (void)call, (void)reason;
    return MCP_EUNSUPPORTED;
}
int mcp_client_wait(mcp_client *client, mcp_call_id call, mcp_json_doc **ret, mcp_error *error)
{
    (void)client, (void)call, (void)ret;
    return mcp__fail(error, MCP_EUNSUPPORTED, 0, "not there yet");
}
int mcp_client_notify(mcp_client *client, const char *method, const char *params)
{
    (void)client, (void)method, (void)params;
    return MCP_EUNSUPPORTED;
}
int mcp_client_set_log_level(mcp_client *client, const char *level)
{
    (void)client, (void)level;
    return MCP_EUNSUPPORTED;
}
mcp_question_kind mcp_question_kind_of(const mcp_question *question)
{
    (void)question;
    return MCP_QUESTION_FORM;
}
const mcp_json *mcp_question_params(const mcp_question *question)
{
    (void)question;
    return NULL;
}
mcp_str mcp_question_message(const mcp_question *question)
{
    (void)question;
    return (mcp_str){0};
}
const mcp_json *mcp_question_schema(const mcp_question *question)
{
    (void)question;
    return NULL;
}
mcp_str mcp_question_url(const mcp_question *question)
{
    (void)question;
    return (mcp_str){0};
}
mcp_str mcp_question_elicitation_id(const mcp_question *question)
{
    (void)question;
    return (mcp_str){0};
}
mcp_call_id mcp_question_call(const mcp_question *question)
{
    (void)question;
    return 0;
}
void mcp_question_on_cancel(mcp_question *question, void (*fn)(mcp_question *question, void *user),
                            void *user)
{
    (void)question, (void)fn, (void)user;
}
int mcp_question_accept(mcp_question *question, const char *content, mcp_error *error)
{
    (void)question, (void)content;
    return mcp__fail(error, MCP_EUNSUPPORTED, 0, "not there yet");
}
int mcp_question_decline(mcp_question *question)
{
    (void)question;
    return MCP_EUNSUPPORTED;
}
int mcp_question_cancel(mcp_question *question)
{
    (void)question;
    return MCP_EUNSUPPORTED;
}
int mcp_question_sampled(mcp_question *question, const char *result, mcp_error *error)
{
    (void)question, (void)result;
    return mcp__fail(error, MCP_EUNSUPPORTED, 0, "not there yet");
}
int mcp_question_roots(mcp_question *question, const mcp_root *roots, size_t n, mcp_error *error)
{
    (void)question, (void)roots, (void)n;
    return mcp__fail(error, MCP_EUNSUPPORTED, 0, "not there yet");
}
int mcp_question_fail(mcp_question *question, int code, const char *message)
{
    (void)question, (void)code, (void)message;
    return MCP_EUNSUPPORTED;
}
int mcp_client_set_roots(mcp_client *client, const mcp_root *roots, size_t n)
{
    (void)client, (void)roots, (void)n;
    return MCP_EUNSUPPORTED;
}
int mcp_client_subscribe(mcp_client *client, const mcp_subscription_options *options,
                         mcp_subscription **ret)
{
    (void)client, (void)options, (void)ret;
    return MCP_EUNSUPPORTED;
}
int mcp_subscription_set_uris(mcp_subscription *subscription, const char *const *uris, size_t n)
{
    (void)subscription, (void)uris, (void)n;
    return MCP_EUNSUPPORTED;
}
bool mcp_subscription_honours(const mcp_subscription *subscription, mcp_change change,
                              const char *uri)
{
    (void)subscription, (void)change, (void)uri;
    return false;
}
void mcp_subscription_end(mcp_subscription *subscription)
{
    (void)subscription;
}
int mcp_client_connect_transport(mcp_client *client, const mcp_channel_options *options,
                                 const mcp_transport_options *transport, mcp_channel **ret,
                                 mcp_error *error)
{
    (void)transport;
    return mcp_client_connect(client, options, ret, error);
}
mcp_client_output mcp_client_sending(const mcp_client *client)
{
    (void)client;
    return (mcp_client_output){0};
}
bool mcp_client_header(mcp_client *client, size_t index, mcp_str *name, mcp_str *value)
{
    (void)client, (void)index, (void)name, (void)value;
    return false;
}
const char *mcp_client_version_header(const mcp_client *client)
{
    (void)client;
    return NULL;
}
void mcp_client_exchange_ended(mcp_client *client, mcp_exchange exchange,
                               const mcp_exchange_end *end, int64_t now)
{
    (void)client, (void)exchange, (void)end, (void)now;
}
int mcp_client_set_authorization(mcp_client *client, const char *who)
{
    (void)client, (void)who;
    return MCP_EUNSUPPORTED;
}
