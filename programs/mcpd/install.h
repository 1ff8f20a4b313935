/* install.h: adds an entry to a host's configuration file (mcpd --install HOST). */
#ifndef MCPD_INSTALL_H
#define MCPD_INSTALL_H

#include "entry.h"

/* Shows the change, and asks for confirmation unless `yes` is set. `file` replaces the host's usual
 * file. The rest of the file is kept, and a backup is made beside it. Returns 0, or 1 after
 * reporting the error and printing the entry to add by hand, or 2 if there is no terminal to ask
 * on. */
int install_entry(const entry *e, const char *file, bool yes);

#endif
