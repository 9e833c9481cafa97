# Fitting Room in Microsoft's Functions image, for Kubernetes. Exactly what `azd deploy` sends: tests/infra compares the two.
# Pin by digest for a release: docker build --build-arg BASE=mcr.microsoft.com/azure-functions/python@sha256:<digest> .
ARG BASE=mcr.microsoft.com/azure-functions/python:4-python3.13
FROM ${BASE}

ENV AzureWebJobsScriptRoot=/home/site/wwwroot \
    AzureFunctionsJobHost__Logging__Console__IsEnabled=true \
    FUNCTIONS_WORKER_RUNTIME=python \
    ASPNETCORE_URLS=http://+:8080

COPY requirements.txt /tmp/requirements.txt
RUN pip install --no-cache-dir --requirement /tmp/requirements.txt

WORKDIR /home/site/wwwroot
COPY host.json function_app.py requirements.txt ./
COPY shared shared
COPY process_image_job process_image_job
COPY cleanup_abandoned_drafts cleanup_abandoned_drafts

# One import of everything heavy, so that a base image that breaks a wheel fails the build and not the first photo.
RUN python -c "import cv2, numpy, pillow_heif; from PIL import features; features.check('webp') or exit('no WebP')"

EXPOSE 8080
