/* source_name.h: the name of a source for a server in a host's configuration file. */
#ifndef PROGRAM_HOSTS_SOURCE_NAME_H
#define PROGRAM_HOSTS_SOURCE_NAME_H

enum { SOURCE_NAME_MAX = 24 };

/* Makes a name of a-z, 0-9 and "-" from any text. Letters become small, and runs of other characters
 * than letters and digits become "-". A name that is too long, or has neither letters nor digits,
 * gets a hash. The name depends only on the text. */
void source_name(const char *entry, char to[SOURCE_NAME_MAX + 1]);

#endif
