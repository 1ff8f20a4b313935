/* mime.h: MIME types by file name, from the system's shared-mime-info database (its `globs2`
 * files), or from a small built-in table if there is no database.
 *
 * The database is read by the first lookup (about 0.1 ms). Contents of files are not read: for a
 * name without a type, files_mime_of_content() chooses one when the contents are known. All
 * functions are thread-safe.
 */
#ifndef FILES_MIME_H
#define FILES_MIME_H

#include <mcp/base.h>

typedef struct files_mime files_mime;

/* Creates a lookup. data_home is a folder with `mime/globs2` that has the highest priority, or
 * NULL. data_dirs are folders separated by colons, in descending priority; NULL or "" means
 * "/usr/local/share:/usr/share". These are XDG_DATA_HOME and XDG_DATA_DIRS of the XDG base
 * directory specification; the environment is not read. Both are copied. Returns MCP_OK or
 * MCP_ENOMEM. Free it with files_mime_free(), which accepts NULL. */
int files_mime_new(const char *data_home, const char *data_dirs, const mcp_allocator *alloc,
                   files_mime **ret);
void files_mime_free(files_mime *mime);

/* Returns the type for a name (the last component of a path), or NULL. The type lives as long as
 * `mime`. If there is no memory for the database, the built-in table is used. */
const char *files_mime_of_name(files_mime *mime, mcp_str name);

/* Returns "text/plain" or "application/octet-stream". */
const char *files_mime_of_content(bool is_text);

#define FILES_MIME_FOLDER "inode/directory"

#endif
