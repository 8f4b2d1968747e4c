#compdef COMMAND
# Completes what is typed behind COMMAND: `source <(PROGRAM completion zsh)`, or this in a file `_NAME` of a folder of $fpath.
_NAME() {
    local -a lines done open
    local line word entry files
    lines=("${(@f)$(PROGRAM __complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    for line in $lines; do
        word=${line%%$'\t'*}
        if [[ $word == :files ]]; then
            files=1
            continue
        fi
        entry=${word//:/\\:}
        [[ $line == *$'\t'* ]] && entry+=:${line#*$'\t'}
        # Behind these the word goes on.
        if [[ $word == *[=/:.] ]]; then open+=($entry); else done+=($entry); fi
    done
    (( ${#done} )) && _describe -t words COMMAND done
    (( ${#open} )) && _describe -t words COMMAND open -S ''
    [[ -n $files ]] && _files
    return 0
}
if [[ $funcstack[1] == _NAME ]]; then _NAME "$@"; else compdef _NAME COMMAND; fi
