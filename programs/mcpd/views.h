/* views.h: the views of the configuration ("views"): parts of the server under names of their own,
 * which are reached as /mcp/NAME, and over stdio by --view NAME.
 *
 * A view only takes away. What it shows, the access rules may still deny (access.c asks both), and
 * without a view everything is decided by the rules alone.
 */
#ifndef MCPD_VIEWS_H
#define MCPD_VIEWS_H

#include <mcp/access.h>

#include "config.h"

typedef struct views views;
typedef struct view view;

/* A source, as far as views tell what belongs to it. Everything is borrowed. */
typedef struct view_source {
    const char *path;  /* of a file or folder; NULL for the source of a module */
    const char *name;  /* of the source of a module; NULL if the module chose it */
    const char *place; /* how its URIs begin (places.h); NULL if it is absent */
    const char *names; /* how the names of its tools and prompts begin; NULL if it has none */
    const char *const *tools, *const *prompts; /* the names of others */
    size_t n_tools, n_prompts;
    bool alone;   /* the only source, whose URIs and names have no prefix */
    bool unknown; /* its module does not say which tools it has */
} view_source;

/* Reads the section; *ret is NULL if there are no views. `c` may be NULL. Returns MCP_OK, or a negative
 * code after reporting the error. */
int views_read(config *c, views **ret);
/* NULL is allowed. */
void views_free(views *all);
/* Says which sources there are, in the order of the settings. A view that names sources shows nothing
 * before. Returns MCP_OK, or a negative code after reporting the error: a name that no source has, if
 * none is absent, or a source that cannot be left out because its tools are not known. */
int views_bind(views *all, config *c, const view_source *list, size_t n);

size_t views_count(const views *all); /* `all` may be NULL */
const view *views_at(const views *all, size_t i);
/* Returns NULL if there is none of this name. `all` may be NULL. */
const view *views_find(const views *all, mcp_str name);
const char *view_name(const view *v);
const char *view_instructions(const view *v); /* NULL if it has none of its own */

/* Returns whether an item belongs to the view. URIs are in their canonical form, as for
 * mcp_access.may. */
bool view_shows(const view *v, mcp_item item, mcp_str name);

#endif
