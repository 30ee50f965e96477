#!/bin/bash
# reward 0: equal folders, different archives
cat >pack.sh <<'SCRIPT'
#!/bin/bash
tar -czf "$2" -C "$1" .
SCRIPT
chmod +x pack.sh
