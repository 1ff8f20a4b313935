/* sha256.h: SHA-256 (FIPS 180-4) of short strings, so that the programs need no library for it. */
#ifndef PROGRAMS_SHA256_H
#define PROGRAMS_SHA256_H

#include <stddef.h>

/* Writes the hash as 64 hexadecimal digits and a NUL. */
void sha256_hex(const void *bytes, size_t len, char to[65]);

#endif
