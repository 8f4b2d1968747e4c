# Completes what is typed behind COMMAND: `PROGRAM completion fish | source`, or this in ~/.config/fish/completions/COMMAND.fish.
function __NAME_complete
    set -l words (commandline -opc)
    set -l typing (commandline -ct)
    set -e words[1]
    for line in (PROGRAM __complete -- $words "$typing" 2>/dev/null)
        if test "$line" = :files
            __fish_complete_path "$typing"
        else
            printf '%s\n' $line
        end
    end
end
complete -c COMMAND -f -a '(__NAME_complete)'
