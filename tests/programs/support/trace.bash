# Takes what starts a source's process out of a trace.
without_own_processes() { # TRACE
    sed -i -E '/execve\("\/proc\/self\/exe", \["\/proc\/self\/exe", "--source-child"\]|vfork\(|"\/dev\/null"|<\.\.\. execve resumed|execve\("[^"]*\/support\/near"/d' "$1"
}
