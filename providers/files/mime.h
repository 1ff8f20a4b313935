/* mime.h: MIME types by file name, from the system's shared-mime-info database (its `globs2`
 * files), or from a small built-in table if there is none.
 *
 * The database is read at the first look-up (about 0.1 ms). The contents of files are not read: for
 * a name without a type, files_mime_of_content() decides once the contents are available. Any
 * thread may call it.
 */
#ifndef FILES_MIME_H
#define FILES_MIME_H

#include <mcp/base.h>

typedef struct files_mime files_mime;

/* data_home: a folder with `mime/globs2` that goes before all others, or NULL. data_dirs: folders
 * separated by colons, the most important first; NULL or "" is "/usr/local/share:/usr/share". They
 * are what the XDG base directory specification calls XDG_DATA_HOME and XDG_DATA_DIRS; this reads
 * no environment. Copied. MCP_ENOMEM. Free with files_mime_free() (NULL is fine). */
int files_mime_new(const char *data_home, const char *data_dirs, const mcp_allocator *alloc,
                   files_mime **ret);
void files_mime_free(files_mime *mime);

/* The type for a name (the last component of a path), or NULL; lives as long as `mime`. Without
 * memory for the database, the built-in table is used. */
const char *files_mime_of_name(files_mime *mime, mcp_str name);

/* "text/plain" or "application/octet-stream". */
const char *files_mime_of_content(bool is_text);

#define FILES_MIME_FOLDER "inode/directory"

#endif
