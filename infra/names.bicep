// The names of the wardrobe data, once. The storage and the app's settings both take them from here.

@export()
@description('Private blob containers: the photos as taken, and everything made from them.')
var containers = {
  uploads: 'uploads'
  images: 'images'
}

@export()
@description('Queues. A poison queue is made with its queue, so that its gauge is there from the first day.')
var queues = {
  imageJobs: 'image-processing-jobs'
  imageJobsPoison: 'image-processing-jobs-poison'
  webhooks: 'draft-webhooks'
  webhooksPoison: 'draft-webhooks-poison'
  events: 'draft-events'
}

@export()
@description('Tables.')
var tables = {
  drafts: 'drafts'
  due: 'draftdue'
  jobRuns: 'jobruns'
  deadLetters: 'deadletters'
}

@export()
@description('The host storage container that holds the deployed package.')
var packageContainer = 'deployments'
