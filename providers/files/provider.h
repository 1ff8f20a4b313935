/* provider.h: declarations shared by the parts of the provider: its state, and functions that write
 * entries and strings.
 *
 * provider.c mounts and watches, template.c has the templates, list.c answers lists, read.c reads
 * (cache.c keeps what was just read), search.c searches. `roots` and `mime` may be used on any
 * thread; everything else only on the server's thread.
 */
#ifndef FILES_PROVIDER_H
#define FILES_PROVIDER_H

#include "buffer.h"
#include "cache.h"
#include "fileuri.h"
#include "files.h"
#include "mime.h"
#include "root.h"
#include "walk.h"
#include "watch.h"

typedef struct files {
    mcp_allocator alloc;
    mcp_server *server;
    files_roots roots;
    files_mime *mime;
    files_cache *cache; /* created by the first read; NULL if memory is exhausted */
    size_t max_read, watch_budget;
    bool no_watch, rules;
    files_watch *watch;             /* created for the first subscriber */
    bool slow;                      /* the last page was slow; a worker makes the next */
    struct files_changes *changes;  /* NULL if there are no tools that change files */
    common_buffer uri, name, title; /* reused for each entry */
} files;

/* ---- strings --------------------------------------------------------------------------------- */

/* Appends bytes as UTF-8, with U+FFFD for invalid ones. Also writes a NUL that is not counted. */
int files_put_text(common_buffer *out, mcp_str bytes);
/* Appends the canonical URI. Also writes a NUL that is not counted. */
int files_put_uri(const files *f, size_t root, mcp_str rel, common_buffer *out);
/* Appends the absolute path. Also writes a NUL that is not counted. */
int files_put_path(const files *f, size_t root, mcp_str rel, common_buffer *out);
/* Appends a line: "folder" or "file", the size or "-", and the URI, separated by tabs. */
int files_put_line(const files *f, const files_entry *entry, common_buffer *out);

/* Logs for the operator why a request was rejected, if the peer does not receive the reason. */
void files_log(const files *f, const char *what, mcp_str uri, int code);

/* ---- folders that are replaced ---------------------------------------------------------------- */

/* Opens the root again if another folder is at its path now (files_root_renew()), says so in the log
 * and announces it. Returns whether anything has changed. */
bool files_renew(files *f, size_t root);
/* The same before a request, unless this was done a moment ago. */
void files_renew_old(files *f, size_t root);

/* ---- lists ----------------------------------------------------------------------------------- */

int files_list(mcp_request *req, mcp_str cursor, size_t max, void *user);

/* Returns whether reading this folder takes too long for the server's thread. */
bool files_is_large_folder(const struct stat *st);

/* ---- reads ----------------------------------------------------------------------------------- */

/* Parts of files and folders; their parameters: file_parts.h. */
typedef enum files_part_kind {
    FILES_WHOLE = 0,
    FILES_BYTES, /* from, count */
    FILES_LINES, /* from (counted from 1), count */
    FILES_TAIL,  /* count */
    FILES_TREE,  /* `from` is the depth, `count` the limit */
    FILES_PART_KINDS,
} files_part_kind;

typedef struct files_part {
    files_part_kind kind;
    uint64_t from, count; /* 0 if not given */
} files_part;

/* Callbacks for mcp_provider and mcp_resource_template. */
int files_read_resource(mcp_request *req, mcp_str uri, void *user);
int files_read_cached(mcp_request *req, mcp_str uri, void *user);
int files_read_template(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user);

/* ---- versions -------------------------------------------------------------------------------- */

/* The size of the longest object {"libmcp/version":"…"}, which is `_meta` of contents and entries. */
enum { FILES_META_SIZE = EDITING_VERSION_SIZE + 24 };

/* Returns whether the caller is told the version of this file: only who may change it, move it or
 * delete it needs it. */
bool files_tells_version(const files *f, const mcp_request *req, mcp_str uri);
/* Writes the object, and returns it. */
const char *files_version_meta(const editing_version *version, char ret[FILES_META_SIZE]);

/* ---- templates ------------------------------------------------------------------------------- */

extern const mcp_resource_template files_templates[FILES_PART_KINDS];
/* Adds the templates to the server. The provider must be mounted. */
int files_add_templates(files *f, mcp_error *error);
/* Returns whether the name is a variable of the templates, for code that parses a query itself. */
bool files_is_part_name(mcp_str name);

#endif
