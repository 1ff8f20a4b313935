# Removes from a trace the system calls that start the process of a source.
without_own_processes() { # TRACE
    sed -i -E '/execve\("\/proc\/self\/exe", \["\/proc\/self\/exe", "--source-child"\]|vfork\(|"\/dev\/null"|"\/proc\/[0-9]+\/autogroup"|<\.\.\. execve resumed|execve\("[^"]*\/support\/near"/d' "$1"
}
