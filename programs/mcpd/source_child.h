/* source_child.h: serves one source in a process of its own, `mcpd --source-child`, which another
 * mcpd starts. */
#ifndef MCPD_SOURCE_CHILD_H
#define MCPD_SOURCE_CHILD_H

/* The hidden word of the command line, which must be the only one. */
#define SOURCE_CHILD "--source-child"

/* Serves one source in the sandbox, with input from descriptor 3 and output to descriptor 5, until
 * the input ends. The first line of the input describes the source. It is a JSON object:
 *
 *   module    the name of the module; required
 * file      the shared object of the module; if it is missing, the module is searched for as for a
 *             source of the command line
 *   source    the source to mount; required
 *   options   the options of the module
 *   name      the name of the source in URIs
 *   read      paths that may be read
 *   beside    ends of names: if the source is a file, files with these names beside it may be read.
 *             They are beside the file to which the path of the source leads, not beside a link
 *   write     paths that may also be written
 *   sandbox   false for trusted data, so that the process enters no sandbox
 *   report    true to write the mounts, or the reason why there are none, to descriptor 4
 *             (isolated.h)
 *   check     true to let the module check first whether the source works (mcp_module.check)
 *   access    true if access rules exist; the process then asks on descriptor 4 what a caller may
 *             see
 *   page_size, max_work_memory    see mcp_server_options
 *   max_message                   see mcp_stdio_options
 *
 * Returns the exit status: 0, or 1 after writing the reason to stderr. */
int source_child_run(void);

#endif
