// The page that the on-call opens first.

@description('Part of the workbook\'s name.')
param environmentName string

@description('Azure region.')
param location string

@description('Tags.')
param tags object

@description('Workspace that holds the logs.')
param workspaceId string

resource workbook 'Microsoft.Insights/workbooks@2023-06-01' = {
  name: guid(resourceGroup().id, environmentName, 'workbook')
  location: location
  tags: tags
  kind: 'shared'
  properties: {
    displayName: 'Fitting Room ${environmentName}'
    category: 'workbook'
    serializedData: replace(loadTextContent('workbook.json'), '__WORKSPACE_ID__', workspaceId)
    sourceId: workspaceId
    version: '1.0'
  }
}
