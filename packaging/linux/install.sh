#!/bin/sh
# Puts Tandem from this unpacked archive into your account: program menu entry, icon, file type
# .litertlm and the command `tandem`. No administrator rights; nothing outside your home folder.
#
#   ./install.sh               install or update
#   ./install.sh --uninstall   remove the program; chats, settings and models stay
set -eu

id=io.github.tandem_chat.Tandem
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
data=${XDG_DATA_HOME:-$HOME/.local/share}
place=$data/tandem-chat-program
command_link=$HOME/.local/bin/tandem

refresh() {
  command -v update-desktop-database >/dev/null 2>&1 && update-desktop-database -q "$data/applications" || true
  command -v update-mime-database >/dev/null 2>&1 && update-mime-database "$data/mime" >/dev/null 2>&1 || true
  command -v gtk-update-icon-cache >/dev/null 2>&1 && gtk-update-icon-cache -qtf "$data/icons/hicolor" 2>/dev/null || true
}

remove() {
  rm -rf "$place"
  rm -f "$data/applications/$id.desktop" "$data/mime/packages/$id.xml" "$data/metainfo/$id.metainfo.xml"
  for icon in "$data"/icons/hicolor/*/apps/"$id".png "$data/icons/hicolor/scalable/apps/$id.svg"; do
    rm -f "$icon"
  done
  [ ! -L "$command_link" ] || rm -f "$command_link"
}

if [ "${1:-}" = "--uninstall" ]; then
  remove
  refresh
  echo "Tandem is removed. Your chats, settings and models are still there:"
  echo "  $data/tandem-chat"
  exit 0
fi

if [ ! -x "$here/tandem/tandem" ]; then
  echo "install.sh: the program is not beside this script; unpack the whole archive." >&2
  exit 1
fi

remove
mkdir -p "$place" "$data/applications" "$data/mime/packages" "$data/metainfo" "$HOME/.local/bin"
cp -R "$here/tandem/." "$place/"
ln -sf "$place/tandem" "$command_link"
# The desktop file names the program by its full path: ~/.local/bin is not in every session's PATH.
quoted=$(printf '%s' "$place/tandem" | sed 's/[&|\\]/\\&/g')
sed -e "s|^Exec=tandem|Exec=\"$quoted\"|" -e "s|^TryExec=tandem|TryExec=$quoted|" \
  "$here/share/$id.desktop" >"$data/applications/$id.desktop"
cp "$here/share/$id.mime.xml" "$data/mime/packages/$id.xml"
cp "$here/share/$id.metainfo.xml" "$data/metainfo/"
for size in 16 22 24 32 48 64 128 256 512; do
  mkdir -p "$data/icons/hicolor/${size}x${size}/apps"
  cp "$here/share/icons/tandem-$size.png" "$data/icons/hicolor/${size}x${size}/apps/$id.png"
done
mkdir -p "$data/icons/hicolor/scalable/apps"
cp "$here/share/icons/app.svg" "$data/icons/hicolor/scalable/apps/$id.svg"
refresh
echo "Tandem is installed: in the program menu, and as $command_link"
