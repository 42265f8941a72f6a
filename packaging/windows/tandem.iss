; Inno Setup script of Tandem for Windows 10 and newer on x64. build.py calls it:
;   iscc /DVersion=0.1.0 /DSource=dist\tandem /Odist /Ftandem-chat-0.1.0-windows-x86_64-setup tandem.iss
; Installs for the current user without administrator rights. Uninstalling removes the program and what
; the installer registered; chats, settings, models and logs in the user's profile stay.

#ifndef Version
  #error Give the version: /DVersion=X.Y.Z
#endif
#ifndef Source
  #error Give the bundle's folder: /DSource=dist\tandem
#endif

[Setup]
AppId={{6E0B7A52-4C5D-4E0E-9B7A-7C1D1B6E5B0B}
AppName=Tandem
AppVersion={#Version}
AppVerName=Tandem {#Version}
AppPublisher=The Tandem authors
VersionInfoVersion={#Version}
DefaultDirName={localappdata}\Programs\Tandem
DefaultGroupName=Tandem
DisableProgramGroupPage=yes
DisableDirPage=auto
PrivilegesRequired=lowest
PrivilegesRequiredOverridesAllowed=
MinVersion=10.0.10240
ArchitecturesAllowed=x64os
ArchitecturesInstallIn64BitMode=x64os
SetupIconFile=..\icons\tandem.ico
UninstallDisplayIcon={app}\Tandem.exe
LicenseFile=..\..\LICENSE
ChangesAssociations=yes
CloseApplications=yes
RestartApplications=no
Compression=lzma2/max
SolidCompression=yes
WizardStyle=modern

[Languages]
Name: "english"; MessagesFile: "compiler:Default.isl"

[Tasks]
Name: "desktopicon"; Description: "{cm:CreateDesktopIcon}"; Flags: unchecked
Name: "association"; Description: "Open .litertlm files with Tandem"
Name: "path"; Description: "Make the command ""tandem-cli"" available in new terminals"; Flags: unchecked

[InstallDelete]
; An update must not mix old and new libraries.
Type: filesandordirs; Name: "{app}\_internal"

[Files]
Source: "{#Source}\*"; DestDir: "{app}"; Flags: recursesubdirs createallsubdirs ignoreversion

[Icons]
Name: "{group}\Tandem"; Filename: "{app}\Tandem.exe"; AppUserModelID: "io.github.tandem_chat.Tandem"
Name: "{userdesktop}\Tandem"; Filename: "{app}\Tandem.exe"; Tasks: desktopicon

[Registry]
Root: HKCU; Subkey: "Software\Classes\.litertlm"; ValueType: string; ValueData: "Tandem.Model"; Flags: uninsdeletevalue; Tasks: association
Root: HKCU; Subkey: "Software\Classes\.litertlm"; ValueType: string; ValueName: "Content Type"; ValueData: "application/x-litertlm"; Flags: uninsdeletevalue; Tasks: association
Root: HKCU; Subkey: "Software\Classes\Tandem.Model"; ValueType: string; ValueData: "LiteRT-LM model"; Flags: uninsdeletekey; Tasks: association
Root: HKCU; Subkey: "Software\Classes\Tandem.Model\DefaultIcon"; ValueType: string; ValueData: """{app}\Tandem.exe"",0"; Tasks: association
Root: HKCU; Subkey: "Software\Classes\Tandem.Model\shell\open\command"; ValueType: string; ValueData: """{app}\Tandem.exe"" ""%1"""; Tasks: association
Root: HKCU; Subkey: "Environment"; ValueType: expandsz; ValueName: "Path"; ValueData: "{olddata};{app}"; Tasks: path; Check: NotOnPath

[Run]
Filename: "{app}\Tandem.exe"; Description: "{cm:LaunchProgram,Tandem}"; Flags: nowait postinstall skipifsilent

[Code]
function NotOnPath: Boolean;
var
  Found: String;
begin
  Result := True;
  if RegQueryStringValue(HKCU, 'Environment', 'Path', Found) then
    Result := Pos(';' + Lowercase(ExpandConstant('{app}')) + ';', ';' + Lowercase(Found) + ';') = 0;
end;

procedure CurUninstallStepChanged(Step: TUninstallStep);
var
  Found, Ours: String;
  At: Integer;
begin
  if Step <> usPostUninstall then
    exit;
  Ours := ';' + ExpandConstant('{app}');
  if RegQueryStringValue(HKCU, 'Environment', 'Path', Found) then
  begin
    At := Pos(Lowercase(Ours), Lowercase(Found));
    if At > 0 then
    begin
      Delete(Found, At, Length(Ours));
      RegWriteExpandStringValue(HKCU, 'Environment', 'Path', Found);
    end;
  end;
end;
