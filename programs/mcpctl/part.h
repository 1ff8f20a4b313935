/* part.h: parts of a resource: ranges of bytes or lines, or the end of the resource. */
#ifndef MCPCTL_PART_H
#define MCPCTL_PART_H

#include "mcpctl.h"

typedef enum part_kind { PART_ALL, PART_BYTES, PART_LINES, PART_TAIL } part_kind;

typedef struct part {
    part_kind kind;
    uint64_t first; /* bytes from 0, lines from 1 */
    uint64_t count; /* in bytes or lines; UINT64_MAX means up to the end */
    bool from_end;  /* the last `count` bytes */
} part;

/* Reads --range, --lines and --tail. Returns EXIT_OK, or EXIT_USAGE after reporting the error. */
int part_make(const ctl *c, part *ret);

/* Returns the part of a complete text. */
mcp_str part_cut(const part *p, mcp_str text);

/* Returns the URI under which the server itself returns this part, which the caller frees. It is
 * made from a template that matches the URI and has the variables offset and length, line and
 * lines, or tail, as the templates of mcpd do. Returns NULL if there is none, or if the templates
 * could not be read. */
char *part_uri(ctl *c, const part *p, const char *uri);

#endif
