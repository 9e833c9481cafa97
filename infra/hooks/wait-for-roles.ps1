# After provisioning: wait until storage knows the new roles. The same as wait-for-roles.sh, for Windows.
$ErrorActionPreference = 'Stop'

if (-not $env:PACKAGE_CONTAINER_URL) { throw 'PACKAGE_CONTAINER_URL is set by the deployment.' }
$limitSeconds = if ($env:ROLE_WAIT_SECONDS) { [int]$env:ROLE_WAIT_SECONDS } else { 300 }
$pauseSeconds = if ($env:ROLE_WAIT_PAUSE_SECONDS) { [int]$env:ROLE_WAIT_PAUSE_SECONDS } else { 10 }

if (-not $env:DEPLOYER_PRINCIPAL_ID -or $env:PACKAGE_CONTAINER_IS_PUBLIC -eq 'false') {
    Write-Output "Nobody to ask as, or a private storage account: waiting $limitSeconds s for the roles."
    Start-Sleep -Seconds $limitSeconds
    exit 0
}

function Get-ListingStatus {
    $token = azd auth token --scope https://storage.azure.com/.default
    $request = @{
        Uri                = "$($env:PACKAGE_CONTAINER_URL)?restype=container&comp=list&maxresults=1"
        Headers            = @{ Authorization = "Bearer $token"; 'x-ms-version' = '2023-11-03' }
        SkipHttpErrorCheck = $true
    }
    try { (Invoke-WebRequest @request).StatusCode } catch { "no answer: $($_.Exception.Message)" }
}

$waited = 0
while ($true) {
    $status = Get-ListingStatus
    if ($status -eq 200) {
        Write-Output "Roles work after $waited s."
        exit 0
    }
    if ($waited -ge $limitSeconds) {
        Write-Error "Roles do not work after $waited s (storage answered $status). They may take up to ten minutes: run 'azd deploy' then."
        exit 1
    }
    Start-Sleep -Seconds $pauseSeconds
    $waited += $pauseSeconds
}
