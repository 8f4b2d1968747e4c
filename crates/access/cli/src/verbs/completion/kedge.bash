# Completes what is typed behind COMMAND: `source <(PROGRAM completion bash)`.
_NAME_complete() {
    local line=${COMP_LINE:0:COMP_POINT} words=() word bare last cut breaks i
    COMPREPLY=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        bare=${line#"${line%%[![:space:]]*}"}
        word=${COMP_WORDS[i]}
        ((i == COMP_CWORD)) && word=$bare
        # `=` and `:` are words of their own to bash, and parts of words to everybody else.
        if ((i == 0)) || [[ $bare != "$line" ]]; then words+=("$word"); else words[-1]+=$word; fi
        line=${bare#"$word"}
    done
    last=${words[-1]}
    cut=
    breaks=${COMP_WORDBREAKS//[^=:@]/}
    [[ -n $breaks && $last == *[$breaks]* ]] && cut=${last%"${last##*[$breaks]}"}
    while IFS= read -r line; do
        word=${line%%$'\t'*}
        if [[ $word == :files ]]; then
            compopt -o default 2>/dev/null
            continue
        fi
        [[ $word == *[=/:.] ]] && compopt -o nospace 2>/dev/null
        word=${word#"$cut"}
        # A name may say anything; on a command line it has to be a word and nothing more.
        [[ $word == *[!A-Za-z0-9_@%+=:,./-]* ]] && printf -v word %q "$word"
        COMPREPLY+=("$word")
    done < <(PROGRAM __complete -- "${words[@]:1}" 2>/dev/null)
}
complete -F _NAME_complete COMMAND
