/* source_child.h: one source in a process of its own: `mcpd --source-child`, which another mcpd
 * starts. */
#ifndef MCPD_SOURCE_CHILD_H
#define MCPD_SOURCE_CHILD_H

/* The hidden word of the command line, which must be the only one. */
#define SOURCE_CHILD "--source-child"

/* Serves one source in the sandbox, on descriptor 3, until the descriptor is closed. The first line
 * on it describes the source. It is a JSON object:
 *
 *   module    its name; required
 *   file      its shared object; without it, it is looked for as for a source of the command line
 *   source    what is to be mounted; required
 *   options   for the module
 *   name      of the source in URIs
 *   read      paths that may be read; without it, the source if that is a path, and what SQLite
 *             puts beside a file
 *   write     paths that may be written too
 *   sandbox   false: none (trusted data)
 *   page_size, max_message
 *
 * Returns the exit status; 1 after a line on stderr that says why. */
int source_child_run(void);

#endif
