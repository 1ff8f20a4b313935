/* web.h: mcpctl-web: a web page for MCP servers, and the gateway between them.
 *
 * mcpctl web starts it, with the servers in a file that is open as one of its descriptors, because
 * variables and headers may be secrets. Nothing that the page sends can name a command or an
 * address; it only chooses among these servers.
 */
#ifndef WEB_H
#define WEB_H

#include <common/page.h>
#include <mcp/io.h>
#include <mcp/mcp.h>
#include <upstream.h>

#include "gate.h"
#include "journal.h"
#include "redirect.h"

typedef struct web web;

typedef enum web_login {
    LOGIN_NONE,
    LOGIN_POSSIBLE,
    LOGIN_RUNNING,
    LOGIN_FAILED,
    LOGIN_DONE
} web_login;

typedef struct web_server {
    web *web;
    const char *name, *title, *target; /* owned by web.given */
    bool is_url;
    const mcp_json *login_line; /* the arguments of mcpctl login, or NULL */
    web_login login;
    /* How the server introduced itself: the result of initialize or server/discover. */
    const char *hello_method;
    mcp_json_doc *hello;
    char problem[400]; /* why it could not be used, valid UTF-8; empty since its last message */
    char *awaited;     /* the id of that request while there is no answer; otherwise NULL */
} web_server;

struct web {
    mcp_json_doc *given; /* what mcpctl web has passed on */
    web_server *servers;
    size_t n_servers;
    mcp_loop *loop;
    mcp_server *server;
    mcp_upstream_group group;
    mcp_listener *listener;
    gate gate;
    redirect redirect;
    journal journal;
    page_headers headers;
    mcp_json_writer *answer; /* the text of the last answer */
    mcp_identity *identity;  /* of the page that has the secret, or NULL */
    unsigned pages;          /* how many exchanged a code */
    unsigned ended;          /* those whose streams were ended */
    mcp_host_timer *soon;    /* ends streams of earlier pages, and removes files */
    mcp_host_timer *late;    /* the code has expired */
    struct login_child *login;
    bool opens; /* start a browser */
    bool told;  /* the user knows that the code was used a second time */
};

/* The principal of every page. */
#define WEB_PRINCIPAL "page"

/* ---- servers.c: the servers, and what passes between them and the gateway --------------------- */

/* Reads the descriptor. Returns false after reporting the error. */
bool servers_read(web *w, int fd);
/* Mounts them. Returns MCP_OK or the codes of mcp_upstream_mount(). */
int servers_mount(web *w, mcp_error *error);
/* Starts them and connects, before the page asks for something. */
void servers_begin(web *w);
void servers_clear(web *w);
/* mcp_host.log: keeps lines about a server. They concern the web of the last servers_mount(). */
void servers_log(const char *level, const char *line, void *user);

/* ---- api.c: what the page may ask besides MCP ------------------------------------------------- */

/* mcp_http_options.page, whose user is the web. */
bool api_answer(const mcp_http_page *page, mcp_http_page_answer *answer, void *user);
/* mcp_http_options.authenticate */
void api_authenticate(mcp_http_login *login, void *user);

/* ---- open.c: the way from the terminal to the page --------------------------------------------- */

/* Makes a code, and opens the page, or says how to open it. */
bool open_page(web *w);
/* Called when a code was exchanged, or somebody tried. */
void open_done(web *w);
void open_refused(web *w, gate_answer why);
void open_clear(web *w);

/* ---- login.c ------------------------------------------------------------------------------------ */

/* Starts mcpctl login for a server. Returns MCP_OK, MCP_ESTATE (one is running), MCP_EINVAL (this
 * server has no login) or MCP_EIO. */
int login_start(web *w, web_server *s);
/* Ends it. */
void login_stop(web *w);

#endif
