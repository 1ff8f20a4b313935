# versions.sh: what the static programs are made of, as "library licence (SPDX)". The versions of the libraries are
# those of Debian's archive on the day of the build; the list of parts of a program has them.
zig_version=0.17.1
postgresql=postgresql-15 postgresql_release=bookworm # later ones need bison and flex
both="zlib:Zlib openssl:Apache-2.0 yyjson:MIT uriparser:BSD-3-Clause pcre2:BSD-3-Clause libuv1:MIT libllhttp:MIT curl:curl"
parts_mcpd="$both libgit2:GPL-2.0-only_WITH_GCC-exception-2.0 libseccomp:LGPL-2.1-only sqlite3:blessing libpq:PostgreSQL utf8proc:MIT_AND_Unicode-DFS-2015 hiredis:BSD-3-Clause"
parts_mcpctl="$both md4c:MIT ncurses:X11-distribute-modifications-variant libedit:BSD-3-Clause"
libraries="zlib openssl yyjson uriparser pcre2 md4c libuv1 libllhttp curl libgit2 sqlite3 libpq utf8proc hiredis libseccomp ncurses libedit"
